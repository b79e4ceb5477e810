/** The logic of the list: filters, columns, order and groups. */
import { describe, expect, it } from 'vitest';
import { compareValues, fieldOf, sortItems } from '../../../src/runs/listing/fields.js';
import { parseFilter } from '../../../src/runs/listing/filter.js';
import type { Item } from '../../../src/runs/listing/item.js';
import { groupsOf, groupTitle, groupValue, sortGroups } from '../../../src/web/table/groups.js';
import { queryOfState, stateOf, usedKeys } from '../../../src/web/table/state.js';

const unknown = [
  'observed',
  'confirmed',
  'ci95',
  'tokens',
  'cost',
  'seed',
  'calls',
  'started',
  'minutes',
  'within',
];

const nothing = {
  ...{ kind: 'run', status: 'completed', environment: 'CartPole-v1', model: 'qwen3:8b', done: 5, of: 10 },
  ...{ ...Object.fromEntries(unknown.map((key) => [key, null])), tags: [] },
};

const item = (name: string, more: Partial<Item> = {}) => ({ ...nothing, name, ...more }) as unknown as Item;

const withTemperature = (name: string, temperature: string, more: Partial<Item> = {}) =>
  item(name, { settings: { 'model.temperature': temperature }, ...more });

const configKeys = ['model.temperature', 'memory.best', 'policy.kind'];

const accepted = (filter: string, items: readonly Item[]) =>
  items.filter(parseFilter(filter, configKeys).accepts).map(({ name }) => name);

describe('a filter', () => {
  const items = [
    withTemperature('cold', '0', { observed: 10, tags: ['baseline'], started: '2026-01-31T10:00:00.000Z' }),
    withTemperature('warm', '0.7', { observed: 400, status: 'running', started: '2026-02-01T10:00:00.000Z' }),
    withTemperature('hot', '1.5', { observed: 500, seed: 3, model: 'baseline/random' }),
    item('training', { kind: 'training', environment: 'data' }),
  ];

  it.each([
    ['warm', ['warm']],
    ['status=running', ['warm']],
    ['model=*qwen*', ['cold', 'warm', 'training']],
    ['best=400..', ['warm', 'hot']],
    ['best=..400', ['cold', 'warm']],
    ['observed=400', ['warm']],
    ['seed=3', ['hot']],
    ['tag=base*', ['cold']],
    ['started=2026-01', ['cold']],
    ['started=2026-02..', ['warm']],
    ['kind=training', ['training']],
    ['model.temperature=0.7..1', ['warm']],
    ['model.temperature=0.7..', ['warm', 'hot']],
    ['model.temperature=0', ['cold']],
    ['model.temperature=0.7.. status=completed', ['hot']],
  ])('%s accepts %j', (filter, names) => {
    expect(parseFilter(filter, configKeys).problems).toEqual([]);
    expect(accepted(filter, items)).toEqual(names);
  });

  it.each([
    ['stauts=running', /“stauts” is neither a field nor a config key.*did you mean status\?/],
    ['temperature=1', /did you mean model\.temperature\?/],
    ['model.temprature=1', /did you mean model\.temperature\?/],
    ['status=runing', /status must be one of running, crashed, .*not “runing”/],
    ['seed=three', /seed must be a number or a range.*100\.\.400, not “three”/],
    ['best=1..2..3', /best must be a number or a range/],
    ['best=..', /best must be a number or a range/],
    ['started=yesterday', /started must be a date.*not “yesterday”/],
    ['best>400', /not >\. For ranges, write best=400\.\. \(at least\)/],
    ['status=', /incomplete: write key=value/],
    ['=5', /incomplete/],
  ])('%s is rejected with a message', (filter, message) => {
    const { accepts, problems } = parseFilter(filter, configKeys);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
    // The rest of the filter still applies.
    expect(items.filter(accepts)).toHaveLength(items.length);
    expect(accepted(`${filter} warm`, items)).toEqual(['warm']);
  });

  it('accepts any config key while the keys are unknown, and reports which ones it needs', () => {
    expect(parseFilter('foo.bar=1 status=running')).toMatchObject({ problems: [], settingKeys: ['foo.bar'] });
    expect(parseFilter('foo.bar=1', configKeys).settingKeys).toEqual([]);
    expect(parseFilter('memory=best*', configKeys).problems).toEqual([]);
  });
});

describe('the order', () => {
  it('compares numbers as numbers, with missing values last in both directions', () => {
    const items = [
      withTemperature('b', '10'),
      withTemperature('a', '9'),
      item('c'),
      withTemperature('d', 'auto'),
    ];
    const names = (sort: string) => sortItems(items, sort).map(({ name }) => name);
    expect(names('model.temperature')).toEqual(['a', 'b', 'd', 'c']);
    expect(names('-model.temperature')).toEqual(['b', 'a', 'd', 'c']);
    expect(names('name')).toEqual(['a', 'b', 'c', 'd']);
    expect(compareValues(null, 1, -1)).toBe(1);
  });
});

it('fieldOf accepts earlier names of fields', () => {
  expect(fieldOf('best').key).toBe('observed');
  expect(fieldOf('done').get(item('x'))).toBe(0.5);
});

describe('groups', () => {
  const items = [
    withTemperature('a-1', '0.7', { seed: 1, tokens: 10, confirmed: 100 }),
    withTemperature('a-2', '0.7', { seed: 2, tokens: 30, status: 'failed' }),
    withTemperature('b-1', '1', { seed: 1, confirmed: 300 }),
    withTemperature('lake', '0.7', { environment: 'FrozenLake-v1', confirmed: 0.5 }),
    item('tuned', { kind: 'training', environment: 'data' }),
    item('sweep', { kind: 'sweep' }),
  ];
  const groups = groupsOf(items, ['model.temperature']);

  it('have items with the same values and environment, and exclude directories of runs', () => {
    expect(groups.map(({ environment, items: own, values }) => [environment, values, own.length])).toEqual([
      ['CartPole-v1', [0.7], 2],
      ['CartPole-v1', [1], 1],
      ['FrozenLake-v1', [0.7], 1],
      ['data', [null], 1],
    ]);
    expect(groupTitle(groups[0]!, ['model.temperature'])).toBe('0.7');
    expect(groupTitle({ values: [0.7, null] }, ['model.temperature', 'tag'])).toBe(
      'model.temperature 0.7, tag –',
    );
  });

  it('show means, shared values, or how many values there are', () => {
    const own = groups[0]!.items;
    const shown = (key: string) => groupValue(own, fieldOf(key));
    expect(shown('tokens')).toBe(20);
    expect(shown('model')).toBe('qwen3:8b');
    expect(shown('status')).toBe('2 values');
    expect(shown('seed')).toBe('2 seeds');
    expect(shown('cost')).toBeNull();
    expect(groupValue(groups[3]!.items, fieldOf('model.temperature'))).toBeNull();
  });

  it('are sorted by their values, or by the means that the server computed', () => {
    const order = (sort: string) =>
      sortGroups(groups, sort, ({ values }) =>
        values[0] === 1 ? { observed: null, confirmed: { mean: 50, meanInterval: null } } : undefined,
      ).map(({ environment, values }) => `${environment} ${values[0]}`);
    expect(order('name')).toEqual(['CartPole-v1 0.7', 'FrozenLake-v1 0.7', 'CartPole-v1 1', 'data null']);
    expect(order('-confirmed').slice(0, 2)).toEqual(['CartPole-v1 0.7', 'CartPole-v1 1']);
  });
});

describe('the URL', () => {
  it('restores the state that it was made from, and omits defaults', () => {
    for (const state of [
      stateOf(new URLSearchParams()),
      {
        filter: 'model.temperature=0.7..1 a b',
        sort: '-confirmed',
        columns: ['status', 'model.temperature', 'cost'],
        by: ['model.temperature', 'policy.kind'],
      },
      { ...stateOf(new URLSearchParams()), columns: [] },
    ])
      expect(stateOf(new URLSearchParams(queryOfState(state)))).toEqual(state);
    expect(queryOfState(stateOf(new URLSearchParams()))).toEqual({});
    expect(stateOf(new URLSearchParams('by=tag')).sort).toBe('name');
  });

  it('determines which config keys the page requests from the server', () => {
    const state = stateOf(
      new URLSearchParams('columns=status,tokens,memory.best&by=policy.kind&sort=-confirmed'),
    );
    expect(usedKeys(state, ['model.temperature'])).toEqual([
      ...['memory.best', 'model.temperature', 'policy.kind'],
    ]);
    expect(usedKeys(stateOf(new URLSearchParams()), [])).toEqual([]);
  });
});
