/** Browsers and servers stumble on a busy machine; a test that stumbles twice has a reason. */
jest.retryTimes(1, { logErrorsBeforeRetry: true, retryImmediately: true });
