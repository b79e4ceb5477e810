import { beforeAll, describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { ConfigInput } from '../../src/config/config.js';
import { parseConfig } from '../../src/config/load.js';
import { environmentIds, makeEnvironment } from '../../src/environments/catalogue/open.js';
import { type DrawnEpisode, drawCompactSvg, drawEpisode } from '../../src/experiment/animations.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import { svgAnimation } from '../../src/rollout/pictures/svg-animation.js';
import { replay } from '../../src/rollout/replay.js';
import { notablePolicies, readPlayableRun } from '../../src/runs/open-run.js';
import { writeReport } from '../../src/web/report/write-report.js';
import { elementTree } from '../rollout/pictures/xml-reader.js';
import { quick, readRunFile, runExperimentFrom } from '../support/experiments.js';
import { entryOf } from '../support/records.js';
import { elementsOf, visibleText } from '../web/shown.js';

const config = {
  ...quick,
  model: { provider: 'cma-es' },
  candidates: 2,
  seed: 11,
} as const satisfies ConfigInput;

let path: string;
beforeAll(async () => {
  ({ path } = await runExperimentFrom(config));
});

async function linearPole() {
  const environment = await makeEnvironment('CartPole-v1');
  const { policy } = parseConfig({ ...config, policy: { kind: 'linear' } });
  return { environment, family: createPolicyFamily(policy!, environment) };
}

describe('the animation of an episode', () => {
  it.each(['common', 'fresh'] as const)('has its recorded return and length, on %s seeds', async (seeds) => {
    const evaluation = { ...quick.evaluation, seeds };
    const run = await runExperimentFrom({ ...config, iterations: 2, evaluation });
    const { config: resolved, family, manifest, recorded } = await readPlayableRun(run.path);
    const environment = await makeEnvironment('CartPole-v1');
    const stage = { config: resolved, family, environment, seed: manifest.seed };
    expect(recorded.entries.length).toBe(7);
    for (const entry of recorded.entries) {
      for (const [episode, value] of entry.returns.entries()) {
        const drawn = drawEpisode(stage, entry, { kind: 'evaluated', episode }, 50);
        expect(drawn).toMatchObject({
          recorded: value,
          replay: { return: value, length: entry.lengths[episode] },
        });
        expect(drawn.animation.moments.at(-1)).toMatchObject({
          return: value,
          step: entry.lengths[episode],
        });
        const bySeed = drawEpisode(stage, entry, { kind: 'seed', seed: drawn.seed }, 50);
        expect(bySeed).toMatchObject({ episode, recorded: value, replay: { return: value } });
      }
    }
  });

  it('shows the state of the environment in each frame', async () => {
    const { environment, family } = await linearPole();
    const parameters = family.initial(createGenerator(1));
    const { moments, pace, length } = replay({ environment, family, maxSteps: 60 }, parameters, 4, 300);
    expect(moments.length).toBe(Math.ceil(length / pace.stride) + 1);
    const again = await makeEnvironment('CartPole-v1');
    const policy = family.build(parameters);
    let observation = again.reset(4);
    let played = 0;
    for (const { frame, step } of moments) {
      for (; played < step; played++) ({ observation } = again.step(policy(observation)));
      expect(frame).toEqual(again.frame!());
    }
  });

  it('is rejected if the number of parameters does not match the policy', async () => {
    const { environment, family } = await linearPole();
    const play = () => replay({ environment, family, maxSteps: 5 }, [1, 2], 0, 5);
    expect(play).toThrow(/has 2 parameters, but the config's policies have 10/);
  });
});

describe('the SVG of an episode', () => {
  const drawn = environmentIds();
  it.each(drawn)('in %s has a bounded size', async (id) => {
    const environment = await makeEnvironment(id);
    const policy = {
      discrete: { kind: 'q-table' },
      box: { kind: 'linear' },
      tuple: { kind: 'linear' },
      text: undefined,
    } as const;
    const { policy: written } = parseConfig({ ...config, policy: policy[environment.observationSpace.kind] });
    const family = createPolicyFamily(written!, environment);
    const setting = { environment, family, maxSteps: 150 };
    const draw = (maxFrames: number) => {
      const played = replay(setting, family.initial(createGenerator(2)), 3, maxFrames);
      return { seed: 3, replay: played, animation: { title: id, ...played } } satisfies DrawnEpisode;
    };
    const { svg, animation } = drawCompactSvg(draw, 360);
    expect(Buffer.byteLength(svg)).toBeLessThanOrEqual(60_000);
    expect(elementTree(svg).children[0]).toMatchObject({ name: 'title', text: id });
    expect(svgAnimation(draw(animation.moments.length).animation, 360)).toBe(svg);
    environment.close?.();
  });
});

describe('notablePolicies', () => {
  const others = [entryOf(0, 3), entryOf(1, 1), entryOf(2, 9), entryOf(3, 8)];
  const entries = [...others, entryOf(3, 1, { candidate: 1 })];

  it('returns the best, the worst and the first policy', () => {
    const [first, worst, best] = entries;
    expect(notablePolicies(entries, { confirmations: [] })).toEqual({ best, worst, first });
    expect(notablePolicies([], { confirmations: [] })).toBeUndefined();
  });

  it('prefers the confirmed best to the observed best', () => {
    const confirmed = {
      stage: 'final',
      iteration: 3,
      candidate: 0,
      parameters: [],
      observed: 8,
      mean: 7,
      ci95: [6, 8],
      episodes: 5,
    } as const;
    expect(notablePolicies(entries, { confirmations: [confirmed] })!.best).toBe(entries[3]);
  });
});

describe('the report', () => {
  it('shows the best, the worst and the first policy', async () => {
    const page = readRunFile(path, 'report');
    const { recorded, manifest } = await readPlayableRun(path);
    const notable = notablePolicies(recorded.entries, manifest)!;
    const images = elementsOf(page).filter(({ name }) => name === 'episode-picture');
    expect(images.length).toBe(new Set(Object.values(notable)).size);
    for (const { attributes } of images) {
      const svg = attributes.svg!;
      expect(elementTree(svg).children[0]!.text).toMatch(/^CartPole-v1 · /);
      expect(Buffer.byteLength(svg)).toBeLessThanOrEqual(60_000);
    }
    const text = visibleText(page);
    expect(text).toContain(`in ${notable.best.lengths[0]} steps`);
    expect(text).not.toContain('the environment is not what it was then');
    expect(page).toContain('img-src data:');
  });

  it('is identical when written again', async () => {
    const before = readRunFile(path, 'report');
    await writeReport(path);
    expect(readRunFile(path, 'report')).toBe(before);
  });
});
