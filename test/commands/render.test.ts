import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { execute as renderCommand } from '../../src/commands/render.js';
import { readRun } from '../../src/runs/reader.js';
import { readGif } from '../render/gif-reader.js';
import { elementTree } from '../render/xml-reader.js';
import { quick, recordingContext, runExperimentFrom, temporaryDirectory } from '../support/experiments.js';

type RenderArguments = Parameters<typeof renderCommand>[0];

const cwd = temporaryDirectory();
const run = join(cwd, 'buffers', 'cartpole');
const defaults = {
  run: 'cartpole',
  runsDir: 'buffers',
  iteration: 'best',
  size: 120,
  maxFrames: 20,
  quiet: true,
  json: false,
};

async function render(changes: Partial<RenderArguments> = {}) {
  const { context, printed, noted } = recordingContext(cwd);
  const code = await renderCommand({ ...defaults, ...changes }, context);
  return { code, printed, noted };
}

const result = async (changes: Partial<RenderArguments>) => {
  const { printed } = await render({ ...changes, json: true });
  return JSON.parse(printed[0]!) as Record<string, unknown>;
};

beforeAll(async () => {
  await runExperimentFrom(
    { ...quick, model: { provider: 'cma-es' }, candidates: 2, iterations: 3, seed: 11 },
    { path: run },
  );
});

describe('policyloop render', () => {
  it('writes the best policy’s first episode into the run, as a GIF', async () => {
    const { code, printed } = await render();
    expect(code).toBe(0);
    expect(printed[0]).toMatch(
      /^CartPole-v1, policy of .*, episode 1, seed \d+: return [\d.]+ in \d+ steps, as recorded\n/,
    );
    expect(printed[0]).toContain('buffers/cartpole/animations/best-episode-1.gif');
    const gif = readGif(readFileSync(join(run, 'animations/best-episode-1.gif')));
    expect(gif.width).toBe(120);
    expect(gif.frames.length).toBeLessThanOrEqual(20);
  });

  it('describes the animation as JSON', async () => {
    const { entries } = readRun(run);
    const entry = entries.find(({ iteration, candidate }) => iteration === 2 && candidate === 1)!;
    const told = await result({ iteration: '2', candidate: 2, episode: 3, format: 'svg' });
    expect(told).toMatchObject({
      iteration: 2,
      candidate: 1,
      episode: 2,
      return: entry.returns[2],
      length: entry.lengths[2],
      recorded: entry.returns[2],
      asRecorded: true,
      format: 'svg',
      out: 'buffers/cartpole/animations/iteration-0002-candidate-2-episode-3.svg',
    });
    const svg = readFileSync(join(cwd, told.out as string), 'utf8');
    expect(Buffer.byteLength(svg)).toBe(told.bytes);
    expect(elementTree(svg).children[0]!.text).toBe('CartPole-v1 · iteration 2.2');
  });

  it('can render the worst policy, the first one, the best of an iteration, and any seed', async () => {
    const { entries } = readRun(run);
    const lowest = entries.reduce((a, b) => (b.score < a.score ? b : a));
    expect(await result({ iteration: 'worst' })).toMatchObject({ recorded: lowest.returns[0] });
    expect(await result({ iteration: 'first' })).toMatchObject({ iteration: 0, candidate: 0 });
    const third = entries.filter(({ iteration }) => iteration === 3).toSorted((a, b) => b.score - a.score);
    expect(await result({ iteration: '3' })).toMatchObject({ candidate: third[0]!.candidate });
    expect(await result({ seed: 7 })).toMatchObject({
      seed: 7,
      episode: null,
      recorded: null,
      asRecorded: null,
    });
  });

  it('writes the given file, in the format of its extension', async () => {
    await render({ out: 'here.svg' });
    expect(readFileSync(join(cwd, 'here.svg'), 'utf8')).toMatch(/^<svg /);
    expect(readdirSync(cwd).filter((name) => name.startsWith('here'))).toEqual(['here.svg']);
  });

  it('writes the same bytes each time', async () => {
    for (const format of ['svg', 'gif']) {
      await render({ out: `a.${format}` });
      await render({ out: `b.${format}` });
      expect(
        Buffer.compare(readFileSync(join(cwd, `a.${format}`)), readFileSync(join(cwd, `b.${format}`))),
      ).toBe(0);
    }
  });

  it.each([
    [{ iteration: '99' }, /--iteration: this iteration has no evaluated policy[\s\S]*0 \(warm-up\) to 3/],
    [{ iteration: 'latest' }, /--iteration: must be best, worst, first or an iteration/],
    [
      { iteration: '2', candidate: 3 },
      /--candidate: iteration 2 has no evaluated candidate[\s\S]*one of: 1, 2/,
    ],
    [{ candidate: 1 }, /--candidate: --iteration best already/],
    [{ episode: 4 }, /--episode: evaluations of cartpole have only/],
    [{ episode: 0 }, /--episode: must be a whole number of at least 1/],
    [{ seed: -1 }, /--seed/],
    [{ format: 'png' }, /--format: unknown format[\s\S]*one of: gif, svg/],
    [{ out: 'picture.png' }, /--out: unknown file format/],
    [{ out: 'picture' }, /--out: unknown file format/],
    [{ out: 'picture.gif', format: 'svg' }, /--out: must end in \.svg/],
    [{ out: 'nowhere/picture.gif' }, /--out: the directory does not exist/],
    [{ size: 10 }, /--size: must be a whole number of at least 64/],
    [{ maxFrames: 1 }, /--max-frames/],
    [{ fps: 51 }, /--fps: must be a whole number from 1 to 50/],
    [{ run: 'other' }, /there is no such run/],
  ])('refuses %j', async (changes, message) => {
    await expect(render(changes)).rejects.toThrow(message);
  });

  it('leaves no files when it refuses', () => {
    expect(existsSync(join(cwd, 'nowhere'))).toBe(false);
    expect(existsSync(join(cwd, 'picture.gif'))).toBe(false);
  });
});

describe('a run that was altered', () => {
  const altered = (name: string, change: (config: string) => string): string => {
    const copy = join(cwd, 'buffers', name);
    cpSync(run, copy, { recursive: true });
    const file = join(copy, 'config.yaml');
    const before = readFileSync(file, 'utf8');
    expect(change(before)).not.toBe(before);
    writeFileSync(file, change(before));
    return name;
  };

  it('is rendered as it plays now, with a warning', async () => {
    const name = altered('rewarded', (config) =>
      config.replace('options: {}', 'options: {sutton_barto_reward: true}'),
    );
    const { noted, printed, code } = await render({ run: name, format: 'svg' });
    expect(code).toBe(0);
    // Steps are worth nothing there, and its pole stands to the end.
    expect(printed[0]).toContain('return 0.000 in');
    expect(printed[0]).not.toContain('as recorded');
    expect(noted.join('\n')).toMatch(/warning: the evaluation recorded a return of [\d.]+ for this episode/);
    expect(await result({ run: name })).toMatchObject({ return: 0, asRecorded: false });
  });

  it('is refused if its number of parameters no longer matches the config', async () => {
    const name = altered('shorter', (config) => config.replace('bias: true', 'bias: false'));
    await expect(render({ run: name })).rejects.toThrow(
      /has 10 parameters, but the config's policies have 8/,
    );
  });

  it('is refused if its animations folder is a link', async () => {
    const name = altered('linked', (config) => `${config}\n`);
    const elsewhere = temporaryDirectory();
    const folder = join(cwd, 'buffers', 'linked', 'animations');
    rmSync(folder, { recursive: true, force: true });
    symlinkSync(elsewhere, folder);
    await expect(render({ run: name })).rejects.toThrow(/a link, not a folder/);
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});
