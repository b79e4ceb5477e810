/** Which items a filter lets through: words, and `key=value` with `*` for any characters, or `key=low..high`. */

/** @typedef {import('./words.js').Item} Item */

/** @type {Record<string, (item: Item) => string | number | null | readonly string[]>} */
const keys = {
  name: ({ name }) => name,
  kind: ({ kind }) => kind,
  status: ({ status }) => status,
  environment: ({ environment }) => environment,
  model: ({ model }) => model,
  best: ({ confirmed, observed }) => confirmed ?? observed,
  observed: ({ observed }) => observed,
  confirmed: ({ confirmed }) => confirmed,
  done: ({ done }) => done,
  cost: ({ cost }) => cost,
  tokens: ({ tokens }) => tokens,
};

export const filterKeys = Object.keys(keys);

/**
 * @param {string} text
 * @returns {{ isLet: (item: Item) => boolean, problem: string | undefined }}
 */
export function parseFilter(text) {
  /** @type {((item: Item) => boolean)[]} */
  const tests = [];
  let problem;
  for (const part of text.trim().split(/\s+/).filter(Boolean)) {
    const [, key, value] = /^(\w+)=(.*)$/s.exec(part) ?? [];
    if (key === undefined || value === undefined) tests.push(wordTest(part));
    else if (!Object.hasOwn(keys, key)) problem = `there is no key ${key}: ${filterKeys.join(', ')}`;
    else tests.push(valueTest(/** @type {(typeof keys)[string]} */ (keys[key]), value));
  }
  return { isLet: (item) => tests.every((test) => test(item)), problem };
}

/** @param {string} word @returns {(item: Item) => boolean} */
function wordTest(word) {
  const wanted = word.toLowerCase();
  return ({ environment, kind, model, name, status }) =>
    [name, kind, status, environment ?? '', model ?? ''].some((text) => text.toLowerCase().includes(wanted));
}

/** @param {(typeof keys)[string]} of @param {string} value @returns {(item: Item) => boolean} */
function valueTest(of, value) {
  const [, low, high] = /^(-?[\d.]+(?:e-?\d+)?)?\.\.(-?[\d.]+(?:e-?\d+)?)?$/i.exec(value) ?? [];
  if (low !== undefined || high !== undefined) {
    const [least, most] = [
      low === undefined ? -Infinity : Number(low),
      high === undefined ? Infinity : Number(high),
    ];
    return (item) => {
      const found = of(item);
      return typeof found === 'number' && found >= least && found <= most;
    };
  }
  const source = value.replace(/[.+^${}()|[\]\\?]/g, '\\$&').replaceAll('*', '.*');
  const pattern = new RegExp(value.includes('*') ? `^${source}$` : source, 'is');
  return (item) => {
    const found = of(item);
    return found !== null && [found].flat().some((one) => pattern.test(String(one)));
  };
}
