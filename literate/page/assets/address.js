// Where a plain script lies: what `import.meta.url` is to a module.

const { src } = /** @type {HTMLScriptElement} */ (document.currentScript);

export { src as address };
