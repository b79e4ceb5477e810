import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CommandContext } from '../../src/base/context.js';
import * as compare from '../../src/commands/compare.js';
import * as evaluate from '../../src/commands/evaluate.js';
import * as list from '../../src/commands/list.js';
import * as play from '../../src/commands/play.js';
import * as report from '../../src/commands/report.js';
import * as resume from '../../src/commands/resume.js';
import * as show from '../../src/commands/show.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';
import { elementsOf, visibleText } from '../web/shown.js';
import { readPlay } from './playing.js';

const common = { runsDir: 'buffers', json: false, quiet: true };

async function playing(
  cwd: string,
  overrides: readonly string[],
  given: Partial<CommandContext> = {},
  json = false,
) {
  const { context, printed } = recordingContext(cwd, given);
  const args = { ...common, json, config: 'agents/cooking', overrides };
  const code = await play.execute({ ...args, runDir: undefined }, context);
  return { code, printed };
}

/** Three plays in `buffers`. */
async function several() {
  const cwd = temporaryDirectory();
  for (const name of ['expert', 'random', 'first'] as const)
    await playing(cwd, [`player=${name}`, `name=${name}`, 'episodes=8']);
  const { context, printed } = recordingContext(cwd);
  await list.execute({ runsDir: 'buffers', json: true }, context);
  const runs = JSON.parse(printed[0]!) as { name: string; play: { player: string } }[];
  const named = Object.fromEntries(runs.map(({ name, play: { player } }) => [player, name]));
  return { cwd, named };
}

describe('policyloop play', () => {
  it('ends its JSON lines with a result that contains meanScore', async () => {
    const cwd = temporaryDirectory();
    const { code, printed } = await playing(cwd, ['player=expert', 'episodes=20'], {}, true);
    expect(code).toBe(0);
    const lines = printed.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines[0]).toMatchObject({ kind: 'run-started' });
    expect(lines.filter(({ kind }) => kind === 'game-finished')).toHaveLength(20);
    const last = lines.at(-1)!;
    const figures = { status: 'completed', player: 'expert', games: 20, meanScore: 1 };
    // Twenty wins out of twenty: the exact interval of a share.
    expect(last).toMatchObject({ ...figures, scoreCi95: [expect.closeTo(0.832, 2), 1] });
    expect(existsSync(join(cwd, String(last.report)))).toBe(true);
    const numbers = await playing(
      cwd,
      ['environment=CartPole-v1', 'policy.prompts=cartpole', 'player=random'],
      {},
      true,
    );
    const without = JSON.parse(numbers.printed.at(-1)!) as Record<string, unknown>;
    expect(without).toMatchObject({ meanScore: null, scoreCi95: null, meanReturn: expect.any(Number) });
  });

  it('rejects invalid settings with specific errors', async () => {
    const cwd = temporaryDirectory();
    const refused = (overrides: readonly string[]) => playing(cwd, overrides);
    await expect(refused(['player=nobody'])).rejects.toThrow(
      /player=nobody[\s\S]*model, expert, random or first/,
    );
    await expect(refused(['policy.prompts=cartpole'])).rejects.toThrow(
      /policy.prompts=cartpole[\s\S]*doesn't describe text:cooking/,
    );
    await expect(refused(['policy.act=guess'])).rejects.toThrow(/text, json or constrained/);
    await expect(
      refused(['environment={id: "gymnasium:CartPole-v1", python: /nowhere/python}', 'player=random']),
    ).rejects.toThrow('/nowhere/python');
    const file = join(cwd, 'mine.yaml');
    writeFileSync(file, 'environment: CartPole-v1\nepisodes: 3\n');
    const { context } = recordingContext(cwd);
    const args = { ...common, config: 'mine.yaml', overrides: [], runDir: undefined };
    await expect(play.execute(args, context)).rejects.toThrow(
      /mine.yaml:1:1: model: missing[\s\S]*required only for `player: model`/,
    );
    writeFileSync(file, 'environment: CartPole-v1\nmodel: { provider: random }\n');
    await expect(play.execute(args, context)).rejects.toThrow(
      /this is an experiment config[\s\S]*policyloop run mine.yaml/,
    );
  });
});

describe('agent runs', () => {
  it('work with list, show, report and compare', async () => {
    const { cwd, named } = await several();
    const { context, printed } = recordingContext(cwd);
    await show.execute({ ...common, run: named.expert!, top: 10 }, context);
    expect(printed.pop()).toMatch(/finished: 8 games of text:cooking by expert\nscore {7}1.000/);
    await show.execute({ ...common, run: named.expert!, top: 10, game: 2 }, context);
    const transcript = printed.pop()!;
    expect(transcript).toMatch(/^game 2, seed \d+\n\nYou are hungry/);
    expect(transcript).toMatch(/> eat meal {4}reward [\s\S]*won after \d+ steps: return 1.000, score 1.000$/);
    await expect(show.execute({ ...common, run: named.expert!, top: 10, game: 9 }, context)).rejects.toThrow(
      'has only 8 complete games',
    );
    await report.execute({ run: named.random!, runsDir: 'buffers', open: false, json: false }, context);
    const page = readFileSync(join(cwd, printed.pop()!), 'utf8');
    expect(visibleText(page)).toContain('text:cooking played by random');
    expect(elementsOf(page).filter(({ attributes: { id } }) => id?.startsWith('game-'))).toHaveLength(8);
    await compare.execute(
      { ...common, json: true, runs: [named.expert!, named.random!, named.first!], unfinished: false },
      context,
    );
    const { differences, measure, plays } = JSON.parse(printed.pop()!) as {
      plays: { name: string; meanScore: number }[];
      measure: string;
      differences: { difference: number }[];
    };
    expect(plays.map(({ name }) => name)).toEqual(['expert', 'random', 'first']);
    expect(measure).toBe('score');
    expect(differences).toHaveLength(3);
    const expected = { of: 'expert', against: 'random', test: 'paired', counts: [8], verdict: 'higher' };
    expect(differences[0]).toMatchObject(expected);
    expect(differences[0]!.difference).toBeCloseTo(plays[0]!.meanScore - plays[1]!.meanScore, 9);
    const request = { ...common, runs: [named.expert!, named.random!], unfinished: false };
    await compare.execute(request, context);
    expect(printed.pop()).toMatch(/score, same games[\s\S]*expert − random +8 pairs/);
    await compare.execute({ ...request, format: 'csv' }, context);
    expect(printed.pop()).toMatch(/^player,games,score,score_low,score_high,return/);
  });

  it('that failed or are damaged are left out of a comparison, which states the reason', async () => {
    const { cwd, named } = await several();
    const [failed, damaged] = [join(cwd, 'buffers', 'failed'), join(cwd, 'buffers', 'damaged')];
    for (const copy of [failed, damaged])
      cpSync(join(cwd, 'buffers', named.random!), copy, { recursive: true });
    const manifest = JSON.parse(readFileSync(join(failed, 'manifest.json'), 'utf8')) as object;
    const reason = { kind: 'model-error', error: 'server', message: 'HTTP 500' };
    writeFileSync(join(failed, 'manifest.json'), JSON.stringify({ ...manifest, status: 'failed', reason }));
    writeFileSync(join(damaged, 'config.yaml'), 'environment: [\n');
    const { context, printed } = recordingContext(cwd);
    const compared = { ...common, runs: ['buffers/*'], unfinished: false };
    await compare.execute({ ...compared, json: true }, context);
    const { leftOut, plays } = JSON.parse(printed.pop()!) as {
      plays: { name: string }[];
      leftOut: { run: string; reason: string }[];
    };
    expect(plays).toHaveLength(3);
    expect(leftOut).toEqual([
      { run: join('buffers', 'damaged'), reason: expect.stringContaining('config.yaml') },
      { run: join('buffers', 'failed'), reason: expect.stringContaining('HTTP 500') },
    ]);
    await compare.execute(compared, context);
    expect(printed.pop()).toMatch(/left out 2 runs:\n {2}buffers\/damaged: [\s\S]*\n {2}buffers\/failed: /);
    const none = { ...compared, runs: ['buffers/failed', 'buffers/damaged'] };
    await expect(compare.execute(none, context)).rejects.toThrow('none of these runs is complete');
  });

  it("can't be compared across environment options, grouped by a key, or evaluated as policies", async () => {
    const { cwd, named } = await several();
    await playing(cwd, ['player=random', 'name=other', 'environment.options.rooms=2', 'episodes=8']);
    const { context } = recordingContext(cwd);
    const other = { ...common, runs: ['buffers/other-*', named.expert!], unfinished: false };
    await expect(compare.execute(other, context)).rejects.toThrow(
      'compare agent runs of the same environment and options',
    );
    const by = { ...common, runs: [named.expert!], unfinished: false, by: 'model' };
    await expect(compare.execute(by, context)).rejects.toThrow('no learning curve and no groups');
    const best = { ...common, run: named.expert!, episodes: 3, iteration: undefined };
    await expect(evaluate.execute(best, context)).rejects.toThrow('no numeric policy');
  });

  it('that share no games can be compared, with a hint to use the same seed', async () => {
    const { cwd, named } = await several();
    await playing(cwd, ['player=random', 'name=other', 'seed=5', 'episodes=8']);
    const { context, printed } = recordingContext(cwd);
    const runs = ['buffers/other-*', named.expert!];
    await compare.execute({ ...common, runs, unfinished: false }, context);
    expect(printed.pop()).toContain('use the same seed');
  });

  it('can be extended with resume, and then have the same games as a longer run', async () => {
    const cwd = temporaryDirectory();
    const { context } = recordingContext(cwd);
    const args = { ...common, json: true, config: 'agents/cooking', runDir: 'short' };
    // The last batch is smaller, and the extension starts a new one.
    expect(await play.execute({ ...args, overrides: ['player=expert', 'episodes=5'] }, context)).toBe(0);
    const more = { ...common, run: 'short', overrides: ['episodes=12'] };
    expect(await resume.execute(more, context)).toBe(0);
    const straight = await playing(cwd, ['player=expert', 'episodes=12', 'name=straight'], {}, true);
    const { run } = JSON.parse(straight.printed.at(-1)!) as { run: string };
    const games = (path: string) =>
      readPlay(path).games.map(({ candidate: _, iteration: __, ...game }) => game);
    expect(games(join(cwd, 'short'))).toEqual(games(join(cwd, run)));
    for (const episodes of [3, 12])
      await expect(resume.execute({ ...more, overrides: [`episodes=${episodes}`] }, context)).rejects.toThrow(
        /this agent run is complete \(12 games\)[\s\S]*resume .*short episodes=24/,
      );
  });

  it('can be resumed after an interruption, unless their settings have changed', async () => {
    const cwd = temporaryDirectory();
    const finish = new AbortController();
    let lines = 0;
    const print = (text: string) => {
      if (text.includes('game-finished') && ++lines === 8) finish.abort();
    };
    const stop = { finish: finish.signal, abort: new AbortController().signal };
    const { context } = recordingContext(cwd, { print, stop });
    const args = { ...common, json: true, config: 'agents/cooking', runDir: 'cut' };
    const code = await play.execute({ ...args, overrides: ['player=random', 'episodes=20'] }, context);
    expect(code).toBe(130);
    expect(readPlay(join(cwd, 'cut')).games.length).toBeLessThan(20);
    const again = recordingContext(cwd);
    const rest = { ...common, run: 'cut', overrides: [] as string[] };
    await expect(resume.execute({ ...rest, overrides: ['seed=3'] }, again.context)).rejects.toThrow(
      /seed.*can't change within a run/,
    );
    const file = join(cwd, 'cut', 'config.yaml');
    const text = readFileSync(file, 'utf8');
    for (const written of [text.replace('seed: 0', 'seed: 3'), text.replace('text-world', 'generic')]) {
      expect(written).not.toBe(text);
      writeFileSync(file, written);
      const refused = await resume.execute(rest, again.context).catch((error: Error) => error.message);
      expect(refused).toMatch(/since the run started[\s\S]*policyloop play CONFIG/);
      expect(refused).not.toContain('warmup');
    }
    writeFileSync(file, text);
    expect(await resume.execute(rest, again.context)).toBe(0);
    const straight = await playing(cwd, ['player=random', 'episodes=20', 'name=straight'], {}, true);
    const { run } = JSON.parse(straight.printed.at(-1)!) as { run: string };
    expect(readPlay(join(cwd, 'cut')).games).toEqual(readPlay(join(cwd, run)).games);
    await expect(resume.execute(rest, again.context)).rejects.toThrow('this agent run is complete');
  });
});
