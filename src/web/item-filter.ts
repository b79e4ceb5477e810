/** The filter of items: words, and tests such as `status=running` and `best=400..`. */
import { matches } from '../base/pattern.js';
import type { Item } from './messages.js';

const texts: Record<string, (item: Item) => string | readonly string[] | null> = {
  name: ({ name }) => name,
  kind: ({ kind }) => kind,
  status: ({ status }) => status,
  environment: ({ environment }) => environment,
  model: ({ model }) => model,
  tag: ({ tags }) => tags,
  note: ({ note }) => note,
};

const numbers: Record<string, (item: Item) => number | null> = {
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

/** Returns a test of items, and what is wrong with the filter. */
export function parseFilter(text: string): { accepts: (item: Item) => boolean; problem: string | undefined } {
  const tests: ((item: Item) => boolean)[] = [];
  let problem: string | undefined;
  for (const part of text.trim().split(/\s+/).filter(Boolean)) {
    const [, key, value] = /^(\w+)=(.*)$/s.exec(part) ?? [];
    if (key === undefined || value === undefined) tests.push(wordTest(part));
    else {
      const test = valueTest(key, value);
      if (typeof test === 'string') problem = test;
      else tests.push(test);
    }
  }
  return { accepts: (item) => tests.every((test) => test(item)), problem };
}

function wordTest(word: string): (item: Item) => boolean {
  const wanted = word.toLowerCase();
  return ({ environment, kind, model, name, note, status, tags }) =>
    [name, kind, status, environment ?? '', model ?? '', note ?? '', ...tags].some((text) =>
      text.toLowerCase().includes(wanted),
    );
}

/** a test, or an error message */
function valueTest(key: string, value: string): ((item: Item) => boolean) | string {
  const ofText = Object.hasOwn(texts, key) ? texts[key] : undefined;
  if (ofText !== undefined) {
    const wanted = value.toLowerCase();
    return (item) => [ofText(item) ?? []].flat().some((one) => matches(wanted, one.toLowerCase()));
  }
  const [first = '', last = first, ...more] = value.split('..');
  if (more.length > 0 || (first === '' && last === ''))
    return `${value} is not a value or range, such as 400, 400.., ..400 or 100..400`;
  if (key === 'started')
    return ({ started }) =>
      started !== null && started >= first && (last === '' || started <= `${last}\uffff`);
  const ofNumber = Object.hasOwn(numbers, key) ? numbers[key] : undefined;
  if (ofNumber === undefined) return `unknown key ${key}; use ${filterKeys.join(', ')}`;
  const [low, high] = [first === '' ? -Infinity : Number(first), last === '' ? Infinity : Number(last)];
  if (Number.isNaN(low) || Number.isNaN(high)) return `${value} is not a number or a range of numbers`;
  return (item) => {
    const own = ofNumber(item);
    return own !== null && own >= low && own <= high;
  };
}
