const { configureGlobal } = require('fast-check');

/** The same random values in each run; every night others (.github/workflows/nightly.yml). */
configureGlobal({ seed: Number(process.env.MEDIA_GATEWAY_TEST_SEED ?? 1) });
