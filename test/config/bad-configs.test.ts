import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { loadConfig } from '../../src/config/load.js';

const valid = "environment: CartPole-v1\nmodel: {provider: ollama, name: 'qwen3:8b'}\n";

/** What the user reads. */
function screen(text: string, ...overrides: readonly string[]): string {
  try {
    loadConfig({ file: 'my.yaml', overrides, readFile: () => text });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const lines = error.message.split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(420);
    expect(error.message).not.toMatch(/^\s+at /m);
    return error.message;
  }
  throw new Error('this config was accepted');
}

describe('error messages about keys', () => {
  it('suggest the nearest key for an unknown one', () => {
    expect(screen(`${valid}iteration: 50`)).toMatchInlineSnapshot(`
      "my.yaml:3:1: iteration: unknown key
        one of: name, environment, policy, model, seed, repeats, iterations, candidates, screening, pipeline, proposal, corrections, novelty, critic, target, limits, warmup, evaluation, confirmation, memory, prompts, demonstrations, record, render, sweep, slurm
        remedy: did you mean \`iterations\`?"
    `);
  });
  it('report several unknown keys in one object', () => {
    expect(screen(`${valid}iteration: 50\nmodle: x\nsteps: 3`)).toMatchInlineSnapshot(`
      "my.yaml:3:1: iteration: unknown key
        one of: name, environment, policy, model, seed, repeats, iterations, candidates, screening, pipeline, proposal, corrections, novelty, critic, target, limits, warmup, evaluation, confirmation, memory, prompts, demonstrations, record, render, sweep, slurm
        remedy: did you mean \`iterations\`?
      my.yaml:4:1: modle: unknown key
        remedy: did you mean \`model\`?
      my.yaml:5:1: steps: unknown key
        remedy: did you mean \`demonstrations.steps\`?"
    `);
  });
  it('suggest where a misplaced key belongs', () => {
    expect(screen(`${valid}episodes: 20\nbase_url: http://x`)).toMatchInlineSnapshot(`
      "my.yaml:3:1: episodes: unknown key
        one of: name, environment, policy, model, seed, repeats, iterations, candidates, screening, pipeline, proposal, corrections, novelty, critic, target, limits, warmup, evaluation, confirmation, memory, prompts, demonstrations, record, render, sweep, slurm
        remedy: did you mean \`evaluation.episodes\`, \`confirmation.episodes\` or \`demonstrations.episodes\`?
      my.yaml:4:1: base_url: unknown key
        remedy: did you mean \`model.baseUrl\` (provider: openai) or \`critic.model.baseUrl\` (provider: openai)?"
    `);
  });
  it('name the providers that a key belongs to', () => {
    expect(
      screen(`environment: CartPole-v1\nmodel:\n  provider: openai\n  name: gpt-5-mini\n  sigma: 2`),
    ).toMatchInlineSnapshot(`
      "my.yaml:5:3: model.sigma: unknown key
        one of: provider, name, baseUrl, apiKeyEnv, maxTokens, reasoningEffort, extra, temperature, topP, format, concurrency, timeoutSeconds, maxRetries, requestsPerMinute, maxRetryAfterSeconds, price
        remedy: did you mean \`model.sigma\` (provider: hill-climb, cma-es or one-plus-one-es) or \`critic.model.sigma\` (provider: hill-climb, cma-es or one-plus-one-es)?"
    `);
  });
  it('give the path of an unknown key in a list item', () => {
    expect(
      screen(`${valid}policy: {kind: q-table, discretize: [{low: 0, high: 1, bins: 2}, {edgs: [1]}]}`),
    ).toMatchInlineSnapshot(`
      "my.yaml:3:67: policy.discretize.1.edgs: unknown key
        expected: edges
        remedy: did you mean \`edges\`?"
    `);
  });
  it('sanitize and shorten keys that would garble the terminal', () => {
    expect(screen(`${valid}"a\\e[31m\\nb": 1\n"${'k'.repeat(500)}": 1`)).toMatchInlineSnapshot(`
      "my.yaml:3:1: "a?[31m?b": unknown key
        one of: name, environment, policy, model, seed, repeats, iterations, candidates, screening, pipeline, proposal, corrections, novelty, critic, target, limits, warmup, evaluation, confirmation, memory, prompts, demonstrations, record, render, sweep, slurm
      my.yaml:4:1: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk…: unknown key"
    `);
  });
  it('suggest the camelCase form of a snake_case key', () => {
    expect(
      screen('environment: CartPole-v1\nmodel: {provider: openai, name: m, base_url: http://x}'),
    ).toMatchInlineSnapshot(`
      "my.yaml:2:36: model.base_url: unknown key
        one of: provider, name, baseUrl, apiKeyEnv, maxTokens, reasoningEffort, extra, temperature, topP, format, concurrency, timeoutSeconds, maxRetries, requestsPerMinute, maxRetryAfterSeconds, price
        remedy: did you mean \`baseUrl\`?"
    `);
  });
  it('report keys of Object.prototype as unknown', () => {
    expect(screen(`${valid}constructor: 1\n__proto__: {x: 1}`)).toMatchInlineSnapshot(`
      "my.yaml:3:1: constructor: unknown key
        one of: name, environment, policy, model, seed, repeats, iterations, candidates, screening, pipeline, proposal, corrections, novelty, critic, target, limits, warmup, evaluation, confirmation, memory, prompts, demonstrations, record, render, sweep, slurm
      my.yaml:4:1: __proto__: unknown key"
    `);
  });
  it('list missing required keys with an example', () => {
    expect(screen('seed: 1')).toMatchInlineSnapshot(`
      "my.yaml:1:1: environment: missing
        expected: text or a mapping {id, options, python, timeoutSeconds, …} (Environment id, your own module (\`./my-env.js\`), or \`{id, options, …}\`)
        remedy: add it, for example \`environment: CartPole-v1\`
      my.yaml:1:1: model: missing
        expected: a mapping with provider: openai, ollama, local, random, hill-climb, cma-es, one-plus-one-es, mix, gp, genetic, replayed, module, custom or portfolio (Source of proposals: a language model, a baseline, or a portfolio of several)
        remedy: add it, for example \`model: {provider: ollama, name: qwen3:8b}\`"
    `);
  });
  it('list missing keys within sections', () => {
    expect(
      screen(`environment: {options: {}}\nmodel:\n  provider: ollama\ntarget: {hold: 2}`),
    ).toMatchInlineSnapshot(`
      "my.yaml:1:1: environment.id: missing
        expected: text (Environment id, e.g. \`CartPole-v1\`, or your own module: \`./my-env.js\`)
        remedy: add \`id\`
      my.yaml:2:1: model.name: missing
        expected: text (Model name, e.g. \`qwen3:8b\`)
        remedy: add \`name\`
      my.yaml:4:1: target.return: missing
        expected: a number (Mean return to reach)
        remedy: add \`return\`"
    `);
  });
  it('report a misspelt required key once, not also as missing', () => {
    expect(screen(`${valid}target: {retrun: 3}`)).toMatchInlineSnapshot(`
      "my.yaml:3:10: target.retrun: unknown key
        one of: return, hold
        remedy: did you mean \`return\`?"
    `);
  });
});

describe('error messages about values', () => {
  it('name the expected type', () => {
    expect(
      screen(
        `${valid}iterations: "50"\nseed: [1]\nname: 3\npolicy: {kind: linear, bias: 'yes'}\nwarmup: many`,
      ),
    ).toMatchInlineSnapshot(`
      "my.yaml:3:13: iterations: must be a whole number of at least 1
        got: "50"
        remedy: remove the quotes
      my.yaml:4:7: seed: must be a whole number of at least 0
        got: [1]
      my.yaml:5:7: name: must be text
        got: 3
        remedy: put it in quotes: "3"
      my.yaml:6:30: policy.bias: must be true or false
        got: "yes"
        remedy: write \`true\`, without quotes
      my.yaml:7:9: warmup: must be a whole number of at least 0 or a mapping {policies, from, until}
        got: "many""
    `);
  });
  it('give the allowed range', () => {
    expect(
      screen(
        `${valid}iterations: 0\nseed: -1\nrepeats: 1.5\ncorrections: 1e300\npolicy: {kind: linear, decimals: 9}`,
      ),
    ).toMatchInlineSnapshot(`
      "my.yaml:3:13: iterations: must be a whole number of at least 1
        got: 0
      my.yaml:4:7: seed: must be a whole number of at least 0
        got: -1
      my.yaml:5:10: repeats: must be a whole number of at least 1
        got: 1.5
      my.yaml:6:14: corrections: must be within ±9007199254740991
        got: 1e+300
      my.yaml:7:34: policy.decimals: must be a whole number from 0 to 6
        got: 9"
    `);
  });
  it('refuse infinities and NaN', () => {
    expect(screen(`${valid}prompts: {optimum: .inf}\ntarget: .nan`)).toMatchInlineSnapshot(`
      "my.yaml:3:20: prompts.optimum: must be finite, not Infinity
      my.yaml:4:9: target: must be finite, not NaN"
    `);
  });
  it('list the allowed words and suggest the nearest', () => {
    expect(screen(`${valid}record: frist\nmemory: recent`)).toMatchInlineSnapshot(`
      "my.yaml:3:9: record: must be none, first or all
        got: "frist"
        remedy: did you mean \`first\`?
      my.yaml:4:9: memory: must be all, none or a mapping {best, recent, order, tokens, …}
        got: "recent""
    `);
  });
  it('report empty values', () => {
    expect(screen(`${valid}limits:\nname: ''`)).toMatchInlineSnapshot(`
      "my.yaml:3:1: limits: has no value
        expected: a mapping {calls, tokens, promptTokens, cachedTokens, …}
        remedy: set a value, or remove the key
      my.yaml:4:7: name: use letters, digits, dot, hyphen and underscore; begin with a letter or digit
        got: """
    `);
  });
  it('ask for an http(s) URL', () => {
    expect(
      screen(`environment: CartPole-v1\nmodel: {provider: openai, name: m, baseUrl: 'localhost:8080'}`),
    ).toMatchInlineSnapshot(`
      "my.yaml:2:45: model.baseUrl: must be an http(s) URL
        got: "localhost:8080""
    `);
  });
  it('give the path of a value deep in a list', () => {
    expect(
      screen(`${valid}policy: {kind: q-table, discretize: [{edges: [1, two]}], actions: [[1], []]}`),
    ).toMatchInlineSnapshot(`
      "my.yaml:3:50: policy.discretize.0.edges.1: must be a number
        got: "two"
      my.yaml:3:73: policy.actions.1: must be a non-empty list in which each item is a number
        got: []"
    `);
  });
});

describe('error messages about unions', () => {
  it('name both forms if the value fits neither', () => {
    expect(screen(`environment: 3\nmodel: {provider: random}`)).toMatchInlineSnapshot(`
      "my.yaml:1:14: environment: must be text or a mapping {id, options, python, timeoutSeconds, …}
        got: 3"
    `);
  });
  it('name both forms if a plain value is out of range', () => {
    expect(screen(`${valid}warmup: -1`)).toMatchInlineSnapshot(`
      "my.yaml:3:9: warmup: must be a whole number of at least 0 or a mapping {policies, from, until}
        got: -1"
    `);
  });
  it('report the problems inside a mapping', () => {
    expect(screen(`${valid}warmup: {policies: -1, form: x}`)).toMatchInlineSnapshot(`
      "my.yaml:3:20: warmup.policies: must be a whole number of at least 0
        got: -1
      my.yaml:3:24: warmup.form: unknown key
        one of: policies, from, until
        remedy: did you mean \`from\`, \`policy.form\` (kind: q-table) or \`proposal.form\`?"
    `);
  });
  it('suggest the nearest word where a mapping is also allowed', () => {
    expect(screen(`${valid}prompts: {conversation: freshh}`)).toMatchInlineSnapshot(`
      "my.yaml:3:25: prompts.conversation: must be fresh or a mapping {turns}
        got: "freshh"
        remedy: did you mean \`fresh\`?"
    `);
  });
  it('suggest the nearest provider', () => {
    expect(
      screen(`environment: CartPole-v1\nmodel: {provider: olama, name: 'qwen3:8b'}`),
    ).toMatchInlineSnapshot(`
      "my.yaml:2:19: model.provider: must be openai, ollama, local, random, hill-climb, cma-es, one-plus-one-es, mix, gp, genetic, replayed, module, custom or portfolio
        got: "olama"
        remedy: did you mean \`ollama\`?"
    `);
  });
  it('list the providers if none is given', () => {
    expect(screen(`environment: CartPole-v1\nmodel: {name: 'qwen3:8b'}`)).toMatchInlineSnapshot(`
      "my.yaml:2:1: model.provider: missing
        expected: openai, ollama, local, random, hill-climb, cma-es, one-plus-one-es, mix, gp, genetic, replayed, module, custom or portfolio
        remedy: add \`provider\`"
    `);
  });
  it('show the mapping to write instead of a single word', () => {
    expect(screen(`environment: CartPole-v1\nmodel: ollama\npolicy: linear`)).toMatchInlineSnapshot(`
      "my.yaml:2:8: model: must be a mapping with provider: openai, ollama, local, random, hill-climb, cma-es, one-plus-one-es, mix, gp, genetic, replayed, module, custom or portfolio
        got: "ollama"
        remedy: write \`model: {provider: ollama, …}\`
      my.yaml:3:9: policy: must be a mapping with kind: linear, mlp, q-table, program or module
        got: "linear"
        remedy: write \`policy: {kind: linear, …}\`"
    `);
  });
  it('list booleans and words together', () => {
    expect(
      screen(`environment: CartPole-v1\nmodel: {provider: ollama, name: m, think: hgh}`),
    ).toMatchInlineSnapshot(`
      "my.yaml:2:43: model.think: must be true, false, low, medium or high
        got: "hgh"
        remedy: did you mean \`high\`?"
    `);
  });
});

describe('error messages about contradictory settings', () => {
  it('cover empty ranges, unsorted edges and inconsistent actions', () => {
    expect(
      screen(
        `${valid}policy:\n  kind: q-table\n  low: 3\n  high: 3\n  discretize:\n    - {low: 1, high: 0, bins: 3}\n    - {edges: [0, 2, 2]}\n  actions: [[1], [0, 1], [1]]`,
      ),
    ).toMatchInlineSnapshot(`
      "my.yaml:5:8: policy.low: must be below policy.high, which is 3
        got: 3
        remedy: widen the range
      my.yaml:8:13: policy.discretize.0.low: must be below policy.discretize.0.high, which is 0
        got: 1
        remedy: swap them: low: 0, high: 1
      my.yaml:9:22: policy.discretize.1.edges.2: edges must ascend, but 2 follows 2
        remedy: sort the edges and remove repeated ones
      my.yaml:10:18: policy.actions.1: has 2 numbers, but the first action has 1
        got: [0,1]
        remedy: give each action one number per dimension of the action space
      my.yaml:10:26: policy.actions.2: repeats an earlier action
        got: [1]"
    `);
  });
  it('name settings that have no effect on a built-in environment', () => {
    const built = 'environment: {id: CartPole-v1, python: python3, timeoutSeconds: 5, parallel: 2}';
    expect(screen(`${built}\nmodel: {provider: random}`)).toMatchInlineSnapshot(`
      "my.yaml:1:40: environment.python: has no effect on CartPole-v1
        got: "python3"
        remedy: remove environment.python
      my.yaml:1:65: environment.timeoutSeconds: has no effect on CartPole-v1
        got: 5
        remedy: remove environment.timeoutSeconds
      my.yaml:1:78: environment.parallel: has no effect on CartPole-v1
        got: 2
        remedy: remove environment.parallel"
    `);
  });
  it('report a range that holds fewer than two numbers', () => {
    expect(screen(`${valid}policy: {kind: linear, low: 0.01, high: 0.14}`)).toMatchInlineSnapshot(`
      "my.yaml:3:1: policy.decimals: fewer than two numbers with 1 decimal lie between 0.01 and 0.14
        got: 1
        remedy: use more decimals or a wider range"
    `);
  });
  it('report a cost limit without a known price', () => {
    expect(screen(`${valid}limits: {cost: 5}`)).toMatchInlineSnapshot(`
      "my.yaml:3:16: limits.cost: needs model.price, because no list price is known
        got: 5
        remedy: add model.price: {input: …, output: …} (US dollars per million tokens), or use limits.tokens"
    `);
  });
  it('report a target.hold longer than the run', () => {
    expect(screen(`${valid}iterations: 5\ntarget: {return: 475, hold: 10}`)).toMatchInlineSnapshot(`
      "my.yaml:4:29: target.hold: can't be reached: it needs 10 iterations in a row, but the run has 5
        got: 10
        remedy: lower target.hold or raise iterations"
    `);
  });
  it('report memory settings that have no effect if no evaluations are shown', () => {
    expect(
      screen(`${valid}memory: {best: 0, recent: 0, order: best-last, trajectories: rows}`),
    ).toMatchInlineSnapshot(`
      "my.yaml:3:37: memory.order: has no effect: prompts show no evaluations if best and recent are 0
        got: "best-last"
        remedy: remove memory.order, or set memory.best or memory.recent
      my.yaml:3:62: memory.trajectories: has no effect: prompts show no evaluations if best and recent are 0
        got: "rows"
        remedy: remove memory.trajectories, or set memory.best or memory.recent"
    `);
  });
  it('report memory.trajectories if none are recorded', () => {
    expect(screen(`${valid}memory: {trajectories: summary}\nrecord: none`)).toMatchInlineSnapshot(`
      "my.yaml:3:24: memory.trajectories: needs the trajectories of episodes, but record is none
        got: "summary"
        remedy: set record to first or all, or memory.trajectories to none"
    `);
  });
  it('report a context window with no room for a prompt', () => {
    expect(
      screen(`environment: CartPole-v1\nmodel: {provider: ollama, name: m, contextTokens: 4096}`),
    ).toMatchInlineSnapshot(`
      "my.yaml:2:51: model.contextTokens: leaves no room for a prompt: replies may take 4096 tokens (model.maxTokens)
        got: 4096
        remedy: raise model.contextTokens, lower model.maxTokens, or remove contextTokens to fit the context to the prompt"
    `);
  });
});

describe('error messages about files', () => {
  it('report an empty file', () => {
    expect(screen('')).toMatchInlineSnapshot(`
      "my.yaml:1:1: is empty, but a config needs keys such as environment and model
        remedy: for example, \`environment: CartPole-v1\` and \`model: {provider: ollama, name: qwen3:8b}\`"
    `);
  });
  it('report a file of comments as empty', () => {
    expect(screen('# nothing yet\n')).toMatchInlineSnapshot(`
      "my.yaml:1:1: is empty, but a config needs keys such as environment and model
        remedy: for example, \`environment: CartPole-v1\` and \`model: {provider: ollama, name: qwen3:8b}\`"
    `);
  });
  it('report a list at the top level', () => {
    expect(screen('- environment\n- model')).toMatchInlineSnapshot(`
      "my.yaml:1:1: is not a config: it contains a list instead of keys and values
        remedy: for example, \`environment: CartPole-v1\` and \`model: {provider: ollama, name: qwen3:8b}\`"
    `);
  });
  it('report a single value at the top level', () => {
    expect(screen('CartPole-v1')).toMatchInlineSnapshot(`
      "my.yaml:1:1: is not a config: it contains a single value instead of keys and values
        remedy: for example, \`environment: CartPole-v1\` and \`model: {provider: ollama, name: qwen3:8b}\`"
    `);
  });
  it('report an unclosed bracket', () => {
    expect(screen('environment: [CartPole-v1\nmodel: x\n')).toMatchInlineSnapshot(
      `
      "my.yaml:2:1: not valid YAML: \`]\` expected before this
        remedy: close the [ on an earlier line, or indent this line"
    `,
    );
  });
  it('report a duplicate key', () => {
    expect(screen(`${valid}seed: 1\nseed: 2\n`)).toMatchInlineSnapshot(`
      "my.yaml:4:1: duplicate key: seed
        remedy: remove one of them"
    `);
  });
  it('suggest spaces instead of tabs', () => {
    expect(screen('environment:\n\tid: CartPole-v1')).toMatchInlineSnapshot(`
      "my.yaml:2:1: not valid YAML: indented with tabs
        remedy: indent with spaces"
    `);
  });
  it('report a bad indent', () => {
    expect(screen('environment: CartPole-v1\n  model: x')).toMatchInlineSnapshot(`
      "my.yaml:1:14: not valid YAML: another key starts inside a value
        remedy: indent all keys of a section equally; put a value that contains \`: \` in quotes"
    `);
  });
  it('report a second document', () => {
    expect(screen(`${valid}---\n${valid}`)).toMatchInlineSnapshot(`
      "my.yaml:3:1: not valid YAML: a second document starts here
        remedy: use one config per file"
    `);
  });
  it('report an unresolved tag', () => {
    expect(screen('environment: !env CartPole-v1\nmodel: {provider: random}')).toMatchInlineSnapshot(
      `"my.yaml:1:14: not valid YAML: Unresolved tag: !env"`,
    );
  });
  it('report an alias without its anchor', () => {
    expect(screen('environment: *task\nmodel: {provider: random}')).toMatchInlineSnapshot(
      `"my.yaml:1:14: not valid YAML: *task refers to an undefined anchor"`,
    );
  });
  it('report an alias inside its own anchor', () => {
    expect(screen('environment: &task {options: {again: *task}}')).toMatchInlineSnapshot(
      `"my.yaml:1:38: not valid YAML: *task refers to a value that contains it"`,
    );
  });
  it('report aliases that expand to too much data', () => {
    expect(
      screen(
        `a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]`,
      ),
    ).toMatchInlineSnapshot(`"my.yaml:1:1: not valid YAML: its aliases expand to too much data"`);
  });
  it('report nesting that is too deep', () => {
    // How deep is too deep is up to the stack.
    const seen = screen(`environment: ${'['.repeat(20_000)}`).replace(/^my.yaml:1:\d+/, 'my.yaml:1:…');
    expect(seen).toMatchInlineSnapshot(`"my.yaml:1:…: the YAML is nested too deeply"`);
  });
  it('show the first problems and count the rest', () => {
    expect(
      screen(valid + Array.from({ length: 40 }, (_, i) => `unknown${i}: 1\n`).join('')),
    ).toMatchInlineSnapshot(`
      "my.yaml:3:1: unknown0: unknown key
        one of: name, environment, policy, model, seed, repeats, iterations, candidates, screening, pipeline, proposal, corrections, novelty, critic, target, limits, warmup, evaluation, confirmation, memory, prompts, demonstrations, record, render, sweep, slurm
      my.yaml:4:1: unknown1: unknown key
      my.yaml:5:1: unknown2: unknown key
      my.yaml:6:1: unknown3: unknown key
      my.yaml:7:1: unknown4: unknown key
      my.yaml:8:1: unknown5: unknown key
      and 34 more"
    `);
  });
  it('give positions in a config imported from another program', () => {
    expect(
      screen(`task: cont_space_llm_num_optim
gym_env_name: CartPole-v1
num_episodes: no
num_evaluation_episodes: 20
param_min: 3
param_max: -3
`),
    ).toMatchInlineSnapshot(`
      "my.yaml:2:1: model: missing
        expected: a mapping with provider: openai, ollama, local, random, hill-climb, cma-es, one-plus-one-es, mix, gp, genetic, replayed, module, custom or portfolio (Source of proposals: a language model, a baseline, or a portfolio of several)
        remedy: add it, for example \`model: {provider: ollama, name: qwen3:8b}\`
      my.yaml:3:15: iterations: must be a whole number of at least 1
        got: false"
    `);
  });
});

describe('error messages about overrides', () => {
  const file = `${valid}policy: {kind: q-table, discretize: [{low: 0, high: 1, bins: 2}]}`;
  it('ask for key=value if the value is missing', () => {
    expect(screen(file, 'iterations')).toMatchInlineSnapshot(`
      "override iterations: isn't of the form key=value
        remedy: write, for example, iterations=50 or model.name=qwen3:8b"
    `);
  });
  it('ask for key=value if the key is missing', () => {
    expect(screen(file, '=3')).toMatchInlineSnapshot(`
      "override =3: isn't of the form key=value
        remedy: write, for example, iterations=50 or model.name=qwen3:8b"
    `);
  });
  it('suggest the nearest key for an unknown one', () => {
    expect(screen(file, 'modle.name=x')).toMatchInlineSnapshot(`
      "override modle.name=x: modle: unknown key
        one of: name, environment, policy, model, seed, repeats, iterations, candidates, screening, pipeline, proposal, corrections, novelty, critic, target, limits, warmup, evaluation, confirmation, memory, prompts, demonstrations, record, render, sweep, slurm
        remedy: did you mean \`model\`?"
    `);
  });
  it('suggest the nearest key within a section', () => {
    expect(screen(file, 'model.temprature=0.5')).toMatchInlineSnapshot(`
      "override model.temprature=0.5: model.temprature: unknown key
        one of: provider, name, host, maxTokens, contextTokens, think, keepAlive, temperature, topP, format, concurrency, timeoutSeconds, maxRetries, requestsPerMinute, maxRetryAfterSeconds, price, topK, minP, repetitionPenalty
        remedy: did you mean \`temperature\`?"
    `);
  });
  it('report a key inside a text value', () => {
    expect(screen(file, 'model.name.size=8')).toMatchInlineSnapshot(
      `"override model.name.size=8: model.name: is text, so it has no key size"`,
    );
  });
  it('report an index beyond the end of a list', () => {
    expect(screen(file, 'policy.discretize.2.bins=4')).toMatchInlineSnapshot(
      `"override policy.discretize.2.bins=4: policy.discretize.2: no such item: the list has length 1; indices start at 0"`,
    );
  });
  it('report a value that is not valid YAML', () => {
    expect(screen(file, 'policy.low=[1')).toMatchInlineSnapshot(`
      "override policy.low=[1: the value can't be read: not valid YAML: Flow sequence must end with a ]
        remedy: put it in quotes: 'policy.low="…"'"
    `);
  });
  it('report a value of the wrong type', () => {
    expect(screen(file, 'iterations=abc')).toMatchInlineSnapshot(`
      "override iterations=abc: iterations: must be a whole number of at least 1
        got: "abc""
    `);
  });
  it('suggest the nearest provider', () => {
    expect(screen(file, 'model.provider=cma')).toMatchInlineSnapshot(`
      "override model.provider=cma: model.provider: must be openai, ollama, local, random, hill-climb, cma-es, one-plus-one-es, mix, gp, genetic, replayed, module, custom or portfolio
        got: "cma"
        remedy: did you mean \`cma-es\`?"
    `);
  });
  it('name a key that the new provider requires', () => {
    expect(screen(file, 'model.provider=openai', 'model.name=')).toMatchInlineSnapshot(`
      "override model.name=: model.name: missing
        expected: text (Model name on the server, e.g. \`gpt-5-mini\`)
        remedy: add \`name\`"
    `);
  });
  it('report the removal of a required key', () => {
    expect(screen(file, 'environment=')).toMatchInlineSnapshot(`
      "override environment=: environment: missing
        expected: text or a mapping {id, options, python, timeoutSeconds, …} (Environment id, your own module (\`./my-env.js\`), or \`{id, options, …}\`)
        remedy: add it, for example \`environment: CartPole-v1\`"
    `);
  });
  it('name the key that an incomplete section lacks', () => {
    expect(screen(file, 'target.hold=3')).toMatchInlineSnapshot(`
      "override target.hold=3: target.return: missing
        expected: a number (Mean return to reach)
        remedy: add \`return\`"
    `);
  });
  it('report an override that conflicts with the file', () => {
    expect(screen(file, 'limits.cost=5')).toMatchInlineSnapshot(`
      "override limits.cost=5: limits.cost: needs model.price, because no list price is known
        got: 5
        remedy: add model.price: {input: …, output: …} (US dollars per million tokens), or use limits.tokens"
    `);
  });
  it('report keys of Object.prototype as unknown', () => {
    expect(screen(file, '__proto__.x=1', 'environment.options.__proto__.x=1')).toMatchInlineSnapshot(`
      "override __proto__.x=1: __proto__: unknown key
        one of: name, environment, policy, model, seed, repeats, iterations, candidates, screening, pipeline, proposal, corrections, novelty, critic, target, limits, warmup, evaluation, confirmation, memory, prompts, demonstrations, record, render, sweep, slurm
      override environment.options.__proto__.x=1: environment.options.__proto__: unknown key"
    `);
  });
  it('report several bad overrides at once', () => {
    expect(screen(file, 'iterations', 'memory.bset=3', 'seed=1')).toMatchInlineSnapshot(`
      "override iterations: isn't of the form key=value
        remedy: write, for example, iterations=50 or model.name=qwen3:8b
      override memory.bset=3: memory.bset: unknown key
        one of: best, recent, order, tokens, digits, trajectories, rows, ofGroup, revisions
        remedy: did you mean \`best\`?"
    `);
  });
});
