/** Messages about configs, as users read them; a snapshot holds their wording, so changing it is one update. */
import { describe, expect, it } from 'vitest';
import { UserError } from '../src/base/errors.js';
import { loadConfig } from '../src/config/load.js';

const valid = "environment: CartPole-v1\nmodel: {provider: ollama, name: 'qwen3:8b'}\n";
const file = `${valid}policy: {kind: q-table, discretize: [{low: 0, high: 1, bins: 2}]}`;

function screen(text: string, overrides: readonly string[]): string {
  try {
    loadConfig({ file: 'my.yaml', overrides, readFile: () => text });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const lines = error.message.split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(420);
    expect(error.message).not.toMatch(/^\s+at /m);
    // How deeply YAML can be nested depends on the stack.
    return error.message.replace(/^my.yaml(:1:\d+)?: the YAML is nested/, 'my.yaml: the YAML is nested');
  }
  throw new Error('this config was accepted');
}

type Case = readonly [title: string, text: string, ...overrides: readonly string[]];

const keys: readonly Case[] = [
  ['suggest the nearest key for an unknown one', `${valid}iteration: 50`],
  ['report several unknown keys in one object', `${valid}iteration: 50\nmodle: x\nsteps: 3`],
  ['suggest where a misplaced key belongs', `${valid}episodes: 20\nbase_url: http://x`],
  [
    'name the providers that a key belongs to',
    `environment: CartPole-v1\nmodel:\n  provider: openai\n  name: gpt-5-mini\n  sigma: 2`,
  ],
  [
    'give the path of an unknown key in a list item',
    `${valid}policy: {kind: q-table, discretize: [{low: 0, high: 1, bins: 2}, {edgs: [1]}]}`,
  ],
  [
    'replace control characters in keys, and shorten long keys',
    `${valid}"a\\e[31m\\nb": 1\n"${'k'.repeat(500)}": 1`,
  ],
  [
    'suggest the camelCase form of a snake_case key',
    'environment: CartPole-v1\nmodel: {provider: openai, name: m, base_url: http://x}',
  ],
  ['suggest `path` for a local model', 'environment: CartPole-v1\nmodel: {provider: local, name: q.gguf}'],
  [
    'suggest apiKeyEnv for apiKey',
    'environment: CartPole-v1\nmodel: {provider: openai, name: m, apiKey: sk-1}',
  ],
  ['report keys of Object.prototype as unknown', `${valid}constructor: 1\n__proto__: {x: 1}`],
  ['list missing required keys with an example', 'seed: 1'],
  [
    'list missing keys within sections',
    `environment: {options: {}}\nmodel:\n  provider: ollama\ntarget: {hold: 2}`,
  ],
];

const values: readonly Case[] = [
  [
    'name the expected type',
    `${valid}iterations: "50"\nseed: [1]\nname: 3\npolicy: {kind: linear, bias: 'yes'}\nwarmup: many`,
  ],
  [
    'give the allowed range',
    `${valid}iterations: 0\nseed: -1\ncorrections: 1e300\npolicy: {kind: linear, decimals: 9}`,
  ],
  ['reject infinities and NaN', `${valid}prompts: {optimum: .inf}\ntarget: .nan`],
  ['list the allowed words and suggest the nearest', `${valid}record: frist\nmemory: recent`],
  ['report empty values', `${valid}limits:\nname: ''`],
  [
    'ask for an http(s) URL',
    `environment: CartPole-v1\nmodel: {provider: openai, name: m, baseUrl: 'localhost:8080'}`,
  ],
  [
    'give the path of a value deep in a list',
    `${valid}policy: {kind: q-table, discretize: [{edges: [1, two]}], actions: [[1], []]}`,
  ],
];

const unions: readonly Case[] = [
  ['name both forms if the value fits neither', `environment: 3\nmodel: {provider: random}`],
  ['name both forms if a plain value is out of range', `${valid}warmup: -1`],
  ['report the problems inside a mapping', `${valid}warmup: {policies: -1, form: x}`],
  ['suggest the nearest word where a mapping is also allowed', `${valid}memory: alll`],
  ['suggest the nearest provider', `environment: CartPole-v1\nmodel: {provider: olama, name: 'qwen3:8b'}`],
  ['list the providers if none is given', `environment: CartPole-v1\nmodel: {name: 'qwen3:8b'}`],
  [
    'show the mapping to write instead of a single word',
    `environment: CartPole-v1\nmodel: ollama\npolicy: linear`,
  ],
];

const contradictions: readonly Case[] = [
  [
    'report empty ranges, unsorted edges and inconsistent actions',
    `${valid}policy:\n  kind: q-table\n  low: 3\n  high: 3\n  discretize:\n    - {low: 1, high: 0, bins: 3}\n    - {edges: [0, 2, 2]}\n  actions: [[1], [0, 1], [1]]`,
  ],
  [
    'report a range that holds fewer than two numbers',
    `${valid}policy: {kind: linear, low: 0.01, high: 0.14}`,
  ],
  ['report a target.hold longer than the run', `${valid}iterations: 5\ntarget: {return: 475, hold: 10}`],
  [
    'report memory.trajectories if none are recorded',
    `${valid}memory: {trajectories: summary}\nrecord: none`,
  ],
  [
    'report a context window with no room for a prompt',
    `environment: CartPole-v1\nmodel: {provider: ollama, name: m, contextTokens: 4096}`,
  ],
];

const files: readonly Case[] = [
  ['report nesting that is too deep', `environment: ${'['.repeat(20_000)}`],
  ['report an empty file', ''],
  ['report a file of comments as empty', '# nothing yet\n'],
  ['report a list at the top level', '- environment\n- model'],
  ['report a single value at the top level', 'CartPole-v1'],
  ['report an unclosed bracket', 'environment: [CartPole-v1\nmodel: x\n'],
  ['report a duplicate key', `${valid}seed: 1\nseed: 2\n`],
  ['suggest spaces instead of tabs', 'environment:\n\tid: CartPole-v1'],
  ['report a bad indent', 'environment: CartPole-v1\n  model: x'],
  ['report a second document', `${valid}---\n${valid}`],
  ['report an unresolved tag', 'environment: !env CartPole-v1\nmodel: {provider: random}'],
  ['report an alias without its anchor', 'environment: *task\nmodel: {provider: random}'],
  ['report an alias inside its own anchor', 'environment: &task {options: {again: *task}}'],
  [
    'report aliases that expand to too much data',
    `a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]`,
  ],
  [
    'show the first problems and count the rest',
    valid + Array.from({ length: 40 }, (_, i) => `unknown${i}: 1\n`).join(''),
  ],
  [
    'give positions in a config imported from another program',
    `task: cont_space_llm_num_optim
gym_env_name: CartPole-v1
num_episodes: no
num_evaluation_episodes: 20
param_min: 3
param_max: -3
`,
  ],
];

const overrides: readonly Case[] = [
  ['ask for key=value if the value is missing', file, 'iterations'],
  ['ask for key=value if the key is missing', file, '=3'],
  ['suggest the nearest key for an unknown one', file, 'modle.name=x'],
  ['suggest the nearest key within a section', file, 'model.temprature=0.5'],
  ['report a key inside a text value', file, 'model.name.size=8'],
  ['report an index beyond the end of a list', file, 'policy.discretize.2.bins=4'],
  ['report a value that is not valid YAML', file, 'policy.low=[1'],
  ['report a value of the wrong type', file, 'iterations=abc'],
  ['suggest the nearest provider', file, 'model.provider=cma'],
  ['suggest the provider written without its hyphen', file, 'model.provider=cmaes'],
  ['suggest model.provider for a provider that is set as the model', file, 'model=cma-es'],
  ['list booleans and words together', file, 'model.think=hgh'],
  ['name a key that the new provider requires', file, 'model.provider=openai', 'model.name='],
  ['report the removal of a required key', file, 'environment='],
  ['name the key that an incomplete section lacks', file, 'target.hold=3'],
  ['report an override that conflicts with another setting', file, 'target={return: 5, hold: 999}'],
  ['reject __proto__ in keys', file, '__proto__.x=1', 'environment.options.__proto__.x=1'],
  ['name the command for several runs', file, 'repeats=3'],
  ['report several bad overrides at once', file, 'modle=x', 'memory.bset=3', 'seed=1'],
];

describe.each(Object.entries<readonly Case[]>({ keys, values, unions, contradictions, files, overrides }))(
  'error messages about %s',
  (_, cases) => {
    it.each(cases)('%s', (_title, text, ...overrides) => {
      expect(screen(text, overrides)).toMatchSnapshot();
    });
  },
);
