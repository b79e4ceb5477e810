import { expect, it } from 'vitest';
import { loadConfig, parseConfig } from '../../src/config/load.js';
import { membersOf } from '../../src/config/model.js';
import { differences } from '../../src/runs/fingerprint.js';

const text = `environment: CartPole-v1
model: { relay: [{ provider: ollama, name: m, calls: 20 }, { provider: gp }] }
`;
const load = (...overrides: readonly string[]) =>
  loadConfig({ file: 'my.yaml', overrides, readFile: () => text });
const relay = (legs: string) => () => load(`model.relay=${legs}`);

it('a relay needs no provider, and its legs are sections of models and baselines', () => {
  const { model } = load().config;
  expect(model).toMatchObject({
    provider: 'relay',
    relay: [{ calls: 20, maxTokens: 4096 }, { provider: 'gp' }],
  });
  expect(membersOf(model).map(({ name, field }) => [name, field])).toEqual([
    ['leg 1 (ollama)', 'model.relay.0'],
    ['leg 2 (gp)', 'model.relay.1'],
  ]);
  expect(parseConfig({ ...load().config, model })).toMatchObject({ model });
  const { model: local } = relay('[{provider: ./my.js, calls: 3}, {provider: random}]')().config;
  expect(local).toMatchObject({ relay: [{ provider: 'module', calls: 3 }, {}] });
});

it('overrides change a leg by its number, or replace the relay', () => {
  expect(load('model.relay.0.calls=5').config.model).toMatchObject({ relay: [{ calls: 5 }, {}] });
  const single = load('model.provider=gp');
  expect(single.config.model).toEqual({ provider: 'gp' });
  expect(single.notes.join()).toContain('ignored model.relay');
});

it.each([
  [
    '[{provider: ollama, name: m}, {provider: gp}]',
    /model\.relay\.0\.calls.*leg 2 never begin.*set model\.relay\.0\.calls/s,
  ],
  [
    '[{provider: gp, calls: 2}, {provider: random, evaluations: 3}]',
    /model\.relay\.1\.evaluations.*last leg.*remove it/s,
  ],
  [
    '[{provider: gp, calls: 2, patience: 3}, {provider: random}]',
    /model\.relay\.0\.patience.*until=stalled/s,
  ],
  ['[{provider: gp, until: bored}, {provider: random}]', /model\.relay\.0\.until.*stalled/s],
  ['[{provider: gp, calls: 0}, {provider: random}]', /model\.relay\.0\.calls/],
  ['[{provider: gp}]', /model\.relay/],
  [
    '[{provider: ollama, name: m, calls: 1}, {provider: local}]',
    /model\.relay\.1\.provider.*second language model/s,
  ],
  ['[{provider: gp, calls: 1}, {provider: relay, relay: []}]', /model\.relay\.1/],
  ['[{provider: gp, calls: 1}, {provider: hill-climb, sigmma: 3}]', /model\.relay\.1\.sigm/],
  ['[{provider: ollama, name: m, calls: 1, host: "http://a:b@c"}, {provider: gp}]', /model\.relay\.0\.host/],
])('the relay %s is refused, with its field and a remedy', (legs, message) => {
  expect(relay(legs)).toThrow(message);
});

it('until: signal needs several episodes', () => {
  const override = 'model.relay=[{provider: random, until: signal}, {provider: gp}]';
  expect(() => load(override, 'evaluation.episodes=1')).toThrow(
    /model\.relay\.0\.until.*evaluation\.episodes/s,
  );
  expect(load(override, 'evaluation.episodes=2').config.model).toMatchObject({ provider: 'relay' });
});

it('a resumed run may change the timeout of a leg, but not its end', () => {
  const { config } = load();
  expect(differences(config, load('model.relay.0.timeoutSeconds=9').config)).toEqual([]);
  expect(differences(config, load('model.relay.0.calls=9').config)).toMatchObject([
    { key: 'model.relay.0.calls' },
  ]);
});
