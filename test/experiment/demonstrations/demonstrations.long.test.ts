import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import { packageRoot } from '../../../src/base/package.js';
import { execute as resumeCommand } from '../../../src/commands/resume.js';
import { execute as runCommand } from '../../../src/commands/run.js';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { assemble } from '../../../src/experiment/assemble.js';
import { preflight } from '../../../src/preflight/preflight.js';
import type { Demonstration } from '../../../src/prompting/context/demonstrations.js';
import { createGroupDirectory } from '../../../src/runs/create.js';
import { readManifest, readRun, runFiles } from '../../../src/runs/reader.js';
import {
  quick,
  readRunFile,
  recordingContext,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
  temporaryDirectory,
} from '../../support/experiments.js';

const bundled = join(packageRoot(), 'test', 'fixtures', 'demonstrations');

/** A copy, for a test to change or to remove. */
function copied(): string {
  const folder = join(temporaryDirectory(), 'demonstrations');
  cpSync(bundled, folder, { recursive: true });
  return folder;
}

const car = {
  ...quick,
  environment: 'MountainCarContinuous-v0',
  policy: { kind: 'linear', bias: false },
  model: { provider: 'ollama', name: 'scripted' },
  iterations: 2,
  confirmation: { candidates: 0 },
} as const satisfies ConfigInput;

const shown = (from: string, more: object = {}) => ({ ...car, demonstrations: { from, ...more } });

/** The first messages that each iteration sent, of a run. */
const systemPrompts = (path: string) =>
  readRun(path).calls.map(({ messages }) => messages.find(({ role }) => role === 'system')?.content ?? '');

/** The episodes that a run keeps. */
const keptBy = (path: string) => JSON.parse(readRunFile(path, 'demonstrations')) as readonly Demonstration[];

const pairs = (prompt: string) => prompt.split('\n').filter((line) => /^\[.*\] -> \[.*\]$/.test(line));

/** What assembling a config says is wrong. */
async function refusal(config: ConfigInput): Promise<string> {
  try {
    await assemble(parseConfig(config), {});
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('demonstrations from a folder', () => {
  it('appear in every prompt with the requested number of evenly spaced steps', async () => {
    const config = shown(bundled, { steps: 4, digits: 3 });
    const { path } = await runExperimentFrom(config, { model: seededModel() });
    const [first, second] = systemPrompts(path);
    const steps = JSON.parse(readFileSync(join(bundled, 'episode_1.json'), 'utf8')) as unknown[];
    expect(first).toContain(`The episode, 4 of its ${steps.length} steps at even distances:`);
    expect(pairs(first!)).toHaveLength(4);
    expect(pairs(first!)[0]).toBe('[-0.487, 0] -> [0.731]');
    expect(pairs(first!)[3]).toMatch(/^\[0\.4/);
    expect(second).toBe(first);
  });

  it('add a section to the prompt and change nothing else in it', async () => {
    const plain = await runExperimentFrom(car, { model: seededModel() });
    const { path } = await runExperimentFrom(shown(bundled), { model: seededModel() });
    const [before] = systemPrompts(plain.path);
    const [after] = systemPrompts(path);
    const section = /## Demonstrations\n[\s\S]*?\n\n(?=## Search)/;
    expect(before).not.toMatch(section);
    expect(after?.replace(section, '')).toBe(before);
    expect(existsSync(join(plain.path, runFiles.demonstrations))).toBe(false);
  });

  it('are copied into the run, which resumes with them even if the folder has changed', async () => {
    const folder = copied();
    const config = shown(folder, { episodes: 2, steps: 3 });
    const whole = await runExperimentFrom({ ...config, iterations: 4 }, { model: seededModel() });
    const { path } = await runExperimentFrom(config, { model: seededModel() });
    expect(keptBy(path).map(({ steps }) => steps.length)).toEqual([3, 3]);
    writeFileSync(join(folder, 'episode_1.json'), '[{"state":[0,0],"action":[9]}]');
    rmSync(join(folder, 'episode_2.json'));
    await resumeExperiment(path, { model: seededModel(), overrides: ['iterations=4'] });
    // The prompts tell how many iterations there are; the pairs are the same.
    expect(systemPrompts(path).map(pairs)).toEqual(systemPrompts(whole.path).map(pairs));
    expect(pairs(systemPrompts(path)[0]!)).toHaveLength(6);

    rmSync(join(path, runFiles.demonstrations));
    await expect(resumeExperiment(path, { model: seededModel() })).rejects.toThrow(
      /demonstrations\.json: the demonstrations that this run's prompts show are missing[\s\S]*restore/,
    );
    writeFileSync(join(path, runFiles.demonstrations), '[{"length":1,"steps":[{"observation":0}]}]');
    await expect(resumeExperiment(path, { model: seededModel() })).rejects.toThrow(
      /demonstrations\.json: this file is damaged/,
    );
  });

  it('cannot be changed within a run', async () => {
    const { path } = await runExperimentFrom(shown(bundled), { model: seededModel() });
    const args = { run: path, json: false, quiet: true, runsDir: 'buffers' } as Parameters<
      typeof resumeCommand
    >[0];
    const { context } = recordingContext(temporaryDirectory());
    const overrides = ['iterations=5', 'demonstrations.steps=7'];
    await expect(resumeCommand({ ...args, overrides }, context)).rejects.toThrow(
      /demonstrations\.steps: can't change within a run: it was 50/,
    );
  });

  it('can be replayed from the run’s own copy if the folder is gone', async () => {
    const folder = copied();
    const { path } = await runExperimentFrom(shown(folder, { episodes: 2 }), { model: seededModel() });
    rmSync(folder, { recursive: true });
    const model = { provider: 'replayed', run: path } as const;
    expect(await refusal({ ...shown(folder, { episodes: 2 }), model })).toMatch(/no such file or folder/);
    const copy = shown(join(path, runFiles.demonstrations), { episodes: 2 });
    const replayed = await runExperimentFrom({ ...copy, model });
    expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
    expect(readRunFile(replayed.path, 'demonstrations')).toBe(readRunFile(path, 'demonstrations'));
    expect(
      await refusal({ ...copy, demonstrations: { ...copy.demonstrations, episodes: 3 }, model }),
    ).toMatch(/demonstrations\.episodes: demonstrations\.from has only 2 episodes/);
  });

  it('appear in the prompt of a dry run and in the token estimates of check', async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'ours.yaml');
    const config = shown(bundled, { steps: 'all' });
    writeFileSync(file, JSON.stringify(config));
    const { context, printed } = recordingContext(folder);
    const args = { config: file, overrides: [], json: true, quiet: true, runsDir: 'buffers', dryRun: true };
    await runCommand(args as unknown as Parameters<typeof runCommand>[0], context);
    const { messages } = JSON.parse(printed.join('\n')) as { messages: { content: string }[] };
    const all = JSON.parse(readFileSync(join(bundled, 'episode_1.json'), 'utf8')) as unknown[];
    expect(pairs(messages[0]!.content)).toHaveLength(all.length);

    const told = async (one: ConfigInput) => {
      const findings = preflight(await assemble(parseConfig(one), {}));
      const of = (field: string) => findings.find((finding) => finding.field === field)?.message ?? '';
      return { context: Number(/about (\d+) tokens/.exec(of('context'))?.[1]), own: of('demonstrations') };
    };
    const [without, with50, withAll] = [await told(car), await told(shown(bundled)), await told(config)];
    expect(with50.own).toMatch(new RegExp(`^1 episode, 50 of ${all.length} steps: about \\d+ tokens`));
    expect(withAll.own).toMatch(new RegExp(`^1 episode, ${all.length} steps`));
    expect(without.own).toBe('');
    expect(with50.context).toBeGreaterThan(without.context + 500);
    expect(withAll.context).toBeGreaterThan(with50.context + 500);
  });

  it('cause a warning if the prompt set does not show them', async () => {
    const set = join(temporaryDirectory(), 'mine');
    cpSync(join(packageRoot(), 'prompts', 'semantic'), set, { recursive: true });
    const config = { ...shown(bundled), prompts: { set } };
    const warnings = async () =>
      preflight(await assemble(parseConfig(config), {})).filter(({ level }) => level !== 'ok');
    expect(await warnings()).toEqual([]);
    const file = join(set, 'system.hbs');
    writeFileSync(file, readFileSync(file, 'utf8').replace('{{> demonstrations}}', ''));
    expect(await warnings()).toMatchObject([
      { level: 'warning', field: 'demonstrations', message: expect.stringContaining('the prompt set') },
    ]);
  });
});

it('a critic sees demonstrations if its templates include them', async () => {
  const prompts = join(temporaryDirectory(), 'critic');
  cpSync(join(packageRoot(), 'prompts', 'critic'), prompts, { recursive: true });
  const file = join(prompts, 'system.hbs');
  writeFileSync(file, `${readFileSync(file, 'utf8')}\n{{> demonstrations}}\n`);
  const model = seededModel();
  const critic = { every: 1, prompts };
  await runExperimentFrom({ ...shown(bundled, { steps: 5 }), critic }, { model });
  const asked = new Set(model.calls.map(({ messages }) => messages[0]!.content));
  expect([...asked].map((prompt) => pairs(prompt).length)).toEqual([5, 5]);
});

describe('demonstrations from a run', () => {
  it('are its best recorded episodes, best first', async () => {
    const teacher = await runExperimentFrom({ ...car, iterations: 5 }, { model: seededModel() });
    const returns = readRun(teacher.path)
      .episodes.map(({ rewards }) => rewards.reduce((sum, reward) => sum + reward, 0))
      .toSorted((a, b) => b - a);
    expect(new Set(returns).size).toBeGreaterThan(3);
    const { path } = await runExperimentFrom(shown(teacher.path, { episodes: 3 }), { model: seededModel() });
    const kept = keptBy(path);
    expect(kept.map((episode) => episode.return)).toEqual(returns.slice(0, 3));
    const [prompt] = systemPrompts(path);
    expect(prompt).toContain(`Episode 1, return ${returns[0]!.toFixed(2)}, 50 of its 60 steps`);
    expect(prompt).toContain(`Episode 3, return ${returns[2]!.toFixed(2)}, `);
  });

  it('give discrete states and actions as integers', async () => {
    const lake = { ...car, environment: 'FrozenLake-v1', policy: { kind: 'q-table' } } as const;
    const random = { ...lake, model: { provider: 'random' } } as const;
    const teacher = await runExperimentFrom(random);
    const { path } = await runExperimentFrom({ ...random, demonstrations: { from: teacher.path } });
    const [{ steps } = { steps: [] }] = keptBy(path);
    expect(steps[0]?.observation).toBe(0);
    expect(Number.isInteger(steps[0]?.action)).toBe(true);
  });

  it('are rejected for another environment, too few or damaged episodes, games and repeats', async () => {
    const cart = await runExperimentFrom({ ...quick, model: { provider: 'random' } });
    expect(await refusal(shown(cart.path))).toMatch(
      /demonstrations\.from: that run's environment is CartPole-v1, but this one's is MountainCarContinuous-v0/,
    );
    const mute = await runExperimentFrom({ ...car, model: { provider: 'random' }, record: 'none' });
    expect(await refusal(shown(mute.path))).toMatch(/that run recorded no episodes[\s\S]*record=first/);
    const few = await runExperimentFrom({ ...car, model: { provider: 'random' }, warmup: 1, iterations: 1 });
    expect(await refusal(shown(few.path, { episodes: 3 }))).toMatch(
      /demonstrations\.episodes: demonstrations\.from has only 2 episodes[\s\S]*demonstrations\.episodes=2/,
    );
    const repeats = join(temporaryDirectory(), 'repeats');
    createGroupDirectory(repeats, '', { version: 1, seeds: [0], runs: ['repeat-00'] });
    expect(await refusal(shown(repeats))).toMatch(/demonstrations\.from: this directory contains repeats/);
    const games = temporaryDirectory();
    cpSync(few.path, games, { recursive: true });
    writeFileSync(
      join(games, runFiles.manifest),
      JSON.stringify({ ...readManifest(few.path), play: { player: 'x' } }),
    );
    expect(await refusal(shown(games))).toMatch(/demonstrations\.from: that run's observations are text/);
    const line = readRunFile(few.path, 'episodes').replace('"rewards":[', '"rewards":["x",');
    writeFileSync(join(few.path, runFiles.episodes), line);
    expect(await refusal(shown(few.path))).toMatch(/iteration 0, candidate 0, episode 0 is damaged/);
  });
});

describe('a demonstrations file', () => {
  const step = '{"state":[-0.5,0],"action":[1]}';
  it.each([
    ['no JSON', '[{"state":[NaN,0],"action":[1]}]', /is not valid JSON[\s\S]*no NaN/],
    ['no list', '{"state":[0,0],"action":[0]}', /isn't a list of steps[\s\S]*expected: a JSON list/],
    ['empty', '[]', /contains no steps/],
    ['a step without an object', `[${step},[1,2]]`, /step 1 \(counted from 0\) isn't an object/],
    [
      'a state that is too long',
      `[${step},{"state":[0,0,0],"action":[1]}]`,
      /step 1 \(counted from 0\): invalid state for MountainCarContinuous-v0\n {2}got: \[0,0,0\]\n {2}expected: a list of 2 numbers/,
    ],
    [
      'an action that is no list',
      '[{"state":[0,0],"action":1}]',
      /invalid action for [\s\S]*a list of 1 number/,
    ],
    ['a text', '[{"state":[0,"0"],"action":[1]}]', /invalid state/],
    ['a number that is infinite', '[{"state":[0,1e999],"action":[1]}]', /invalid state/],
    ['no action', '[{"state":[0,0]}]', /has no action/],
    ['another key', '[{"state":[0,0],"action":[1],"reward":1}]', /unknown key\n {2}got: "reward"/],
    ['two names', '[{"state":[0,0],"observation":[0,0],"action":[1]}]', /both state and observation/],
    ['of a run, damaged', '[{"steps":[],"length":1}]', /is damaged: 0\.steps/],
    [
      'of a run, of another environment',
      '[{"steps":[{"observation":1,"action":2}],"length":1}]',
      /episode 0, step 0 \(counted from 0\): invalid state/,
    ],
    ['deep', '['.repeat(5000), /is not valid JSON: lists and objects are nested/],
  ])('is rejected: %s', async (_name, content, says) => {
    const file = join(temporaryDirectory(), 'episode.json');
    writeFileSync(file, content);
    expect(await refusal(shown(file))).toMatch(says);
    expect(await refusal(shown(file))).toContain(file);
  });

  it('is rejected above the maximum size', async () => {
    const file = join(temporaryDirectory(), 'episode.json');
    writeFileSync(file, `[${step}${' '.repeat(2 ** 24)}]`);
    expect(await refusal(shown(file))).toMatch(/the maximum is 16777216/);
  });

  it('is rejected if it is missing or has fewer episodes than requested', async () => {
    const folder = temporaryDirectory();
    expect(await refusal(shown(join(folder, 'none')))).toMatch(/demonstrations\.from: there is no such file/);
    expect(await refusal(shown(folder))).toMatch(/neither episode_1\.json nor a run/);
    expect(await refusal(shown(bundled, { episodes: 3 }))).toMatch(/has only 2 episodes/);
    const file = join(bundled, 'episode_1.json');
    expect(await refusal(shown(file, { episodes: 2 }))).toMatch(/has only 1 episode/);
  });

  it('may use the key observation, exceed the bounds of a vector, and give an integer as a list', async () => {
    const file = join(temporaryDirectory(), 'episode.json');
    writeFileSync(file, '[{"observation":[-9,0],"action":[99]}]');
    expect((await assemble(parseConfig(shown(file)), {})).demonstrations[0]?.steps).toEqual([
      { observation: [-9, 0], action: [99] },
    ]);
    const lake = { environment: 'FrozenLake-v1', model: car.model, demonstrations: { from: file } } as const;
    writeFileSync(file, '[{"state":[3],"action":[2]},{"state":4,"action":0}]');
    expect((await assemble(parseConfig(lake), {})).demonstrations[0]?.steps).toEqual([
      { observation: 3, action: 2 },
      { observation: 4, action: 0 },
    ]);
    writeFileSync(file, '[{"state":[16],"action":[2]}]');
    expect(await refusal(lake)).toMatch(/invalid state for FrozenLake-v1[\s\S]*an integer from 0 to 15/);
  });
});

it('the prompt set compact rejects demonstrations', () => {
  expect(() => parseConfig({ ...shown(bundled), prompts: { set: 'compact' } })).toThrow(
    /demonstrations: .*prompt set compact/,
  );
  expect(() => parseConfig({ ...car, prompts: { set: 'compact' } })).not.toThrow();
});
