const SOURCE_OF = { '.mjs': '.mts', '.js': '.ts' };

/**
 * TypeScript imports name the file that will exist after compilation (`./gateway.mjs`); the tests run
 * the sources, so the source is meant. Installed packages are left alone.
 */
module.exports = (request, options) => {
	if (request.startsWith('.') && !options.basedir.includes('node_modules')) {
		const extension = request.match(/\.m?js$/)?.[0];
		if (extension) {
			try {
				const source = request.slice(0, -extension.length) + SOURCE_OF[extension];
				return options.defaultResolver(source, options);
			} catch {
				// There is no such source: it is a file of that very name.
			}
		}
	}
	return options.defaultResolver(request, options);
};
