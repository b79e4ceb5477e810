/** Which items a filter lets through: words, and `key=value` as `policyloop list` takes it. */

import { matches } from 'pattern';

/** @typedef {import('./words.js').Item} Item */

/** @type {Record<string, (item: Item) => string | readonly string[] | null>} */
const texts = {
  name: ({ name }) => name,
  kind: ({ kind }) => kind,
  status: ({ status }) => status,
  environment: ({ environment }) => environment,
  model: ({ model }) => model,
  tag: ({ tags }) => tags,
  note: ({ note }) => note,
};

/** @type {Record<string, (item: Item) => number | null>} */
const numbers = {
  seed: ({ seed }) => seed,
  iterations: ({ done }) => done,
  best: ({ observed }) => observed,
  confirmed: ({ confirmed }) => confirmed,
  calls: ({ calls }) => calls,
  tokens: ({ tokens }) => tokens,
  cost: ({ cost }) => cost,
  minutes: ({ minutes }) => minutes,
};

export const filterKeys = [...Object.keys(texts), 'started', ...Object.keys(numbers)];

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
    else {
      const test = valueTest(key, value);
      if (typeof test === 'string') problem = test;
      else tests.push(test);
    }
  }
  return { isLet: (item) => tests.every((test) => test(item)), problem };
}

/** @param {string} word @returns {(item: Item) => boolean} */
function wordTest(word) {
  const wanted = word.toLowerCase();
  return ({ environment, kind, model, name, note, status, tags }) =>
    [name, kind, status, environment ?? '', model ?? '', note ?? '', ...tags].some((text) =>
      text.toLowerCase().includes(wanted),
    );
}

/** @param {string} key @param {string} value @returns {((item: Item) => boolean) | string} a test, or what is wrong */
function valueTest(key, value) {
  const ofText = Object.hasOwn(texts, key) ? texts[key] : undefined;
  if (ofText !== undefined) {
    const wanted = value.toLowerCase();
    return (item) => [ofText(item) ?? []].flat().some((one) => matches(wanted, one.toLowerCase()));
  }
  const [first = '', last = first, ...more] = value.split('..');
  if (more.length > 0 || (first === '' && last === ''))
    return `${value} is no value and no range: 400, 400.., ..400, 100..400`;
  if (key === 'started')
    return ({ started }) =>
      started !== null && started >= first && (last === '' || started <= `${last}\uffff`);
  const ofNumber = Object.hasOwn(numbers, key) ? numbers[key] : undefined;
  if (ofNumber === undefined) return `there is no key ${key}: ${filterKeys.join(', ')}`;
  const [low, high] = [first === '' ? -Infinity : Number(first), last === '' ? Infinity : Number(last)];
  if (Number.isNaN(low) || Number.isNaN(high)) return `${value} is no number and no range of numbers`;
  return (item) => {
    const own = ofNumber(item);
    return own !== null && own >= low && own <= high;
  };
}
