/** Games played by the command, as the recipe reads them. */
import { execFileSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildDataset, type DatasetOptions } from '../../../finetune/dataset/dataset.js';
import type { Imitation } from '../../../finetune/dataset/example.js';
import { evaluationSeeds } from '../../../src/base/random/seeds.js';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import type { GameRecord } from '../../../src/runs/events.js';
import { built } from '../../support/built.js';
import { temporaryDirectory } from '../../support/experiments.js';
import { jsonLines } from './runs.js';

const options = { max_episode_steps: 30, rooms: 1, ingredients: 1, distractors: 1 };

/** Plays games with a new config. @returns the directory of the agent run */
function play(player: string, episodes: number, more: readonly string[] = []): string {
  const folder = temporaryDirectory();
  const config = join(folder, 'games.json');
  writeFileSync(
    config,
    JSON.stringify({
      environment: { id: 'text:cooking', options },
      policy: { kind: 'agent', prompts: 'text-world' },
      model: { provider: 'ollama', name: 'none' },
      player,
      episodes,
    }),
  );
  const run = join(folder, 'run');
  execFileSync(
    process.execPath,
    [built('src/cli.js'), 'play', config, ...more, '--run-dir', run, '--quiet'],
    { stdio: 'pipe' },
  );
  return run;
}

const gamesOf = (run: string) => jsonLines<GameRecord>(run, 'episodes.jsonl');

const made = (runs: readonly string[], more: Partial<DatasetOptions> = {}) =>
  buildDataset(
    runs.map((path) => ({ path, name: path })),
    { recipe: 'demonstrations', validation: { kind: 'share', share: 0.25 }, seed: 0, ...more },
  );

describe('the demonstrations recipe', { timeout: 60_000 }, () => {
  const expert = play('expert', 12);
  const careless = play('random', 12);

  it('turns each action into an example with the messages that the player saw', async () => {
    const { train, validation, alarms } = await made([expert]);
    const games = gamesOf(expert);
    expect(alarms).toEqual([]);
    expect(train.length + validation.length).toBe(games.reduce((sum, { turns }) => sum + turns.length, 0));
    for (const { prompt, completion, lineage } of [...train, ...validation] as Imitation[]) {
      const { turns, return: earned } = games[lineage.candidate]!;
      const turn = lineage.promptIteration - 1;
      expect(completion).toBe(turns[turn]!.action);
      expect(lineage).toMatchObject({ score: earned, model: 'player/expert', history: turn });
      expect(prompt.map(({ role }) => role)).toEqual([
        'system',
        ...turns.slice(0, turn).flatMap(() => ['user', 'assistant']),
        'user',
      ]);
      expect(prompt.at(-1)!.content).toBe(turns[turn]!.message);
      if (turn > 0) expect(prompt.at(-2)!.content).toBe(turns[turn - 1]!.action);
    }
    // The imitated game wins.
    const world = await makeEnvironment('text:cooking', options);
    world.reset(evaluationSeeds(0, 12)[0]!);
    const first = [...train, ...validation].filter(({ lineage }) => lineage.candidate === 0) as Imitation[];
    for (const { completion } of first) world.step(completion);
    expect(world.info!().won).toBe(true);
  });

  it('puts the task in the system message if the turn that states it is cut off', async () => {
    const { train, validation } = await made([expert], { history: 2 });
    for (const { lineage, prompt } of [...train, ...validation] as Imitation[]) {
      const { objective } = gamesOf(expert)[lineage.candidate]!;
      expect(prompt.map(({ content }) => content.includes(objective!)).indexOf(true)).toBe(
        lineage.history < lineage.promptIteration - 1 ? 0 : 1,
      );
    }
  });

  it('holds out a share of the games, with all their transcripts', async () => {
    const { train, validation } = await made([expert, careless]);
    const gamesIn = (examples: typeof train) => new Set(examples.map(({ lineage }) => lineage.candidate));
    const [trained, heldOut] = [gamesIn(train), gamesIn(validation)];
    expect(heldOut.size).toBe(3);
    expect([...heldOut].filter((game) => trained.has(game))).toEqual([]);
    for (const examples of [train, validation])
      expect(new Set(examples.map(({ lineage }) => lineage.run)).size).toBe(2);
  });

  it('treats games with identical turns as one game, even if their seeds differ', async () => {
    const copy = join(temporaryDirectory(), 'copy');
    cpSync(expert, copy, { recursive: true });
    // Other seeds, but the same games.
    const moved = gamesOf(expert).map((game) => ({ ...game, seed: game.seed + 1 }));
    writeFileSync(join(copy, 'episodes.jsonl'), moved.map((game) => `${JSON.stringify(game)}\n`).join(''));
    const { train, validation } = await made([expert, copy]);
    const prompts = new Set(train.map(({ lineage }) => lineage.prompt));
    expect(validation.length).toBeGreaterThan(0);
    expect(validation.filter(({ lineage }) => prompts.has(lineage.prompt))).toEqual([]);
  });

  it('filters games by return', async () => {
    const won = await made([expert, careless], { minReturn: 1, validation: { kind: 'none' } });
    expect(new Set(won.train.map(({ lineage }) => lineage.score))).toEqual(new Set([1]));
    expect(new Set(won.train.map(({ lineage }) => lineage.run))).toContain(expert);
    const returns = gamesOf(careless)
      .map((game) => game.return)
      .toSorted((a, b) => b - a);
    const best = await made([careless], { bestShare: 0.25, validation: { kind: 'none' } });
    expect(new Set(best.train.map(({ lineage }) => lineage.candidate)).size).toBe(3);
    expect(Math.min(...best.train.map(({ lineage }) => lineage.score))).toBe(returns[2]);
    expect(best.sources[0]).toMatchObject({ iterations: 12, evaluations: 3 });
    const none = await made([expert], { minReturn: 2 });
    expect(none.alarms.map(({ kind }) => kind)).toContain('empty-split');
  });

  it('holds out whole agent runs by name', async () => {
    const { train, validation } = await made([expert, careless], {
      validation: { kind: 'named', names: [careless] },
    });
    expect(new Set(train.map(({ lineage }) => lineage.run))).toEqual(new Set([expert]));
    expect(new Set(validation.map(({ lineage }) => lineage.run))).toEqual(new Set([careless]));
  });

  it('shows an invalid reply in later prompts, but never imitates it', async () => {
    const copy = join(temporaryDirectory(), 'copy');
    cpSync(expert, copy, { recursive: true });
    const [game] = gamesOf(expert);
    const turns = game!.turns.map((turn, i) => ({
      ...turn,
      valid: i !== 1,
      reply: i === 1 ? 'Hm.' : `<think>x</think>${turn.action}`,
    }));
    writeFileSync(join(copy, 'episodes.jsonl'), `${JSON.stringify({ ...game, turns })}\n`);
    const { train } = await made([copy], { validation: { kind: 'none' } });
    expect(train.map(({ lineage }) => lineage.promptIteration)).toEqual(
      turns.map((_, i) => i + 1).filter((turn) => turn !== 2),
    );
    const [first, second] = train as Imitation[];
    expect(first!.completion).toBe(turns[0]!.action);
    expect(second!.prompt.map(({ content }) => content)).toContain('Hm.');
  });

  it('rejects a run that is not an agent run, and the improvement recipe rejects agent runs', async () => {
    await expect(made(['buffers/example-cartpole'])).rejects.toThrow("wasn't made with policyloop play");
    await expect(made([expert], { recipe: 'improvement' })).rejects.toThrow('an agent has no numeric policy');
  });
});
