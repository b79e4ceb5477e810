import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type AgentOptions,
  askAgainSchema,
  observationSchema,
  openAgent,
  systemSchema,
} from '../../src/agents/prompted-agent.js';
import { viewOf } from '../../src/agents/views.js';
import { packageRoot } from '../../src/base/package.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { Observation } from '../../src/environments/environment.js';
import { variablesOf } from '../../src/prompting/templates/variables.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const folder = resolve(import.meta.dirname, '../fixtures/prompts/agents');

async function opened(
  id: string,
  given: Partial<AgentOptions> = {},
  options: Readonly<Record<string, unknown>> = {},
) {
  const environment = await makeEnvironment(id, options);
  const agent = openAgent({
    environment,
    options,
    maxSteps: 1000,
    replyFormat: 'text',
    field: 'policy.prompts',
    ...given,
  });
  return { agent, environment };
}

/** All messages to a model: at the first step, after a step, and after a reply that names no action. */
async function told(id: string, given: Partial<AgentOptions> = {}, options = {}) {
  const { agent, environment } = await opened(id, given, options);
  const see = (observation: Observation, steps: number, reward?: number) => {
    const info = environment.info?.();
    return agent.formatObservation(observation, { choices: agent.choices(info), info, steps, reward });
  };
  const first = see(environment.reset(7), 0);
  const choice = agent.choices(environment.info?.())?.[0]?.action ?? [0];
  const { observation, reward } = environment.step(choice);
  const second = see(observation, 1, reward);
  const parts = {
    system: agent.systemPrompt(),
    ...(environment.objective && { 'system, later': agent.systemPrompt(environment.objective()) }),
    first,
    second,
    'ask again': agent.askAgain(agent.choices(environment.info?.())),
  };
  return Object.entries(parts)
    .map(([name, text]) => `=== ${name}\n${text}\n`)
    .join('');
}

describe('golden prompts of agents', () => {
  it.each([
    ['cartpole', 'CartPole-v1', {}, {}],
    ['frozenlake', 'FrozenLake-v1', {}, {}],
    ['frozenlake-json', 'FrozenLake-v1', { replyFormat: 'json' }, { is_slippery: false, map_name: '8x8' }],
    ['blackjack', 'Blackjack-v1', {}, {}],
    ['taxi', 'Taxi-v4', {}, { is_rainy: true, fickle_passenger: true }],
    ['cliffwalking', 'CliffWalking-v1', {}, { is_slippery: true }],
    ['text-world', 'text:cooking', {}, { fold: 'test' }],
    ['text-world-json', 'text:cooking', { replyFormat: 'json' }, {}],
    ['generic', 'Acrobot-v1', {}, {}],
    ['generic-box', 'Pendulum-v1', { replyFormat: 'json' }, {}],
    ['generic-named', 'Blackjack-v1', { prompts: 'generic' }, {}],
    ['plain', 'bandit', {}, {}],
    ['cartpole-short', 'CartPole-v1', { prompts: 'cartpole-short' }, {}],
    ['blackjack-short', 'Blackjack-v1', { prompts: 'blackjack-short' }, {}],
  ] as const)('are unchanged: %s', async (name, id, given, options) => {
    await expect(await told(id, given, options)).toMatchFileSnapshot(join(folder, `${name}.txt`));
  });
});

describe('a prompt set', () => {
  /** A copy of the generic set with one file changed. */
  function changed(file: string, text: string | undefined): string {
    const set = join(temporaryDirectory(), 'mine');
    mkdirSync(set);
    cpSync(join(packageRoot(), 'prompts/agents/generic'), set, { recursive: true });
    if (text === undefined) rmSync(join(set, file));
    else writeFileSync(join(set, file), text);
    return set;
  }
  const mine = (file: string, text: string | undefined, id = 'CartPole-v1') =>
    opened(id, { prompts: changed(file, text) });

  it('in a folder uses the templates of that folder', async () => {
    const { agent, environment } = await mine('observation.hbs', '{{step}}: {{state.angle}}/{{stepLimit}}');
    expect(agent.formatObservation(environment.reset(7), { steps: 3 })).toMatch(/^4: -?0\.0\d\d\/500$/);
  });

  it.each([
    [
      'observation.hbs',
      '{{state.angel}}',
      /observation.hbs:1:\d+: unknown variable `state.angel`\n.*mean `state.angle`/,
    ],
    ['observation.hbs', '{{#if}}', /observation.hbs:1/],
    ['ask-again.hbs', '{{> replay}}', /partial replay could not be found/],
    ['system.hbs', undefined, /the prompt set lacks system.hbs/],
  ])('with a wrong or missing $0 is rejected: $2', async (file, text, message) => {
    await expect(mine(file, text)).rejects.toThrow(message);
  });

  it('is rejected if it uses state variables of another environment', async () => {
    await expect(mine('observation.hbs', '{{state.angle}}', 'Blackjack-v1')).rejects.toThrow(
      'unknown variable `state.angle`',
    );
  });

  it.each([
    ['blackjack', "this prompt set doesn't describe CartPole-v1"],
    ['cartpol', 'did you mean `cartpole`?'],
    ['./nowhere', 'there is no such folder'],
  ])('named %s is rejected for CartPole', async (prompts, message) => {
    await expect(opened('CartPole-v1', { prompts })).rejects.toThrow(message);
  });

  it('has a hash that depends on its own files', async () => {
    const hash = async (prompts?: string) => (await opened('CartPole-v1', { prompts })).agent.hash;
    expect(await hash('cartpole')).toBe(await hash());
    expect(await hash('generic')).not.toBe(await hash());
    expect(await hash(changed('ask-again.hbs', 'Again.'))).not.toBe(await hash('generic'));
    expect(await hash('plain')).toBe('');
  });
});

it('prompts/agents/README.md lists the template variables and environment states', () => {
  const readme = readFileSync(join(packageRoot(), 'prompts/agents/README.md'), 'utf8');
  for (const schema of [systemSchema, observationSchema, askAgainSchema])
    for (const { path, type, description } of variablesOf(schema)) {
      // The parts of spaces belong to their partial.
      if (/^environment\.(observation|action)\./.test(path)) continue;
      expect(readme).toContain(`| \`${path}\` | ${type} | ${description} |`);
    }
  for (const id of ['CartPole', 'FrozenLake', 'Blackjack', 'Taxi', 'CliffWalking']) {
    const { sample, promptSets, state, actionNames } = viewOf(id, {})!;
    const cells = [
      id,
      promptSets.map((set) => `\`${set}\``).join(', '),
      actionNames.join(', '),
      Object.keys(state(sample))
        .map((name) => `\`state.${name}\``)
        .join(', '),
    ];
    expect(readme).toContain(`| ${cells.join(' | ')} |`);
  }
});
