import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { assemble } from '../../../src/experiment/assemble.js';
import { requirePerson } from '../../../src/experiment/feedback/questions.js';
import { isViewed, markViewed } from '../../../src/runs/requests.js';
import { playPlan } from '../../../src/studies/play.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { createScriptedModel } from '../../support/scripted-model.js';

import { asking as config } from './asking.js';

describe('feedback', () => {
  const wrong = (more: object) => () => parseConfig({ ...config, ...more } as ConfigInput);
  const vision = { from: 'vision', every: 2 };

  it('is rejected if it has no effect or contradicts other settings', () => {
    expect(wrong({ model: { provider: 'random' } })).toThrow(
      /feedback: has no effect: random doesn.t read prompts/,
    );
    expect(
      wrong({
        model: {
          provider: 'portfolio',
          members: [{ provider: 'gp' }, { provider: 'random' }],
          switch: 'turns',
        },
      }),
    ).toThrow(/feedback: has no effect: no member reads prompts/);
    expect(wrong({ memory: 'none' })).toThrow(/feedback.*prompts show none/s);
    expect(wrong({ prompts: { set: 'compact' } })).toThrow(/feedback.*compact/s);
    expect(wrong({ feedback: { from: 'person', every: 7 } })).toThrow(
      /feedback\.every: exceeds the number of iterations of the run, 6/,
    );
    expect(wrong({ feedback: { from: 'person', frames: 4 } })).toThrow(
      /feedback\.frames.*the feedback comes from a person/s,
    );
    expect(wrong({ feedback: { ...vision, minutes: 4 } })).toThrow(/feedback\.minutes.*no effect/s);
    expect(wrong({ feedback: { every: 2 } })).toThrow(/feedback\.from/);
    expect(wrong({ repeats: 3 })).toThrow(/feedback\.from.*not 3 repeats/s);
    expect(wrong({ model: { provider: 'local' }, feedback: vision })).toThrow(
      /feedback\.model.*local models can.t read images/s,
    );
    expect(
      wrong({ feedback: { ...vision, model: { provider: 'openai', name: 'x' } }, limits: { cost: 1 } }),
    ).toThrow(/needs feedback\.model\.price/);
    expect(() => parseConfig({ ...config, memory: { best: 0, recent: 1 } })).not.toThrow();
    // A limit of cost counts the one of two models that has a price.
    const priced = { provider: 'openai', name: 'x', price: { input: 1, output: 1 } };
    const [free, capped] = [{ provider: './mine.mjs' }, { limits: { cost: 1 } }];
    expect(wrong({ ...capped, model: free, feedback: { ...vision, model: priced } })).not.toThrow();
    expect(wrong({ ...capped, model: priced, feedback: { ...vision, model: free } })).not.toThrow();
    expect(wrong({ ...capped, model: free, feedback: { ...vision, model: free } })).toThrow(
      /limits\.cost: has no effect/,
    );
    expect(wrong({ ...capped, model: priced, critic: { model: { provider: 'local' } } })).not.toThrow();
    expect(wrong({ ...capped, model: { provider: 'local' }, critic: { model: priced } })).not.toThrow();
  });

  it('is rejected if the episode cannot be drawn or the model cannot see images', async () => {
    const text = { ...config, environment: 'text/cooking', feedback: vision };
    await expect(assemble(parseConfig(text as ConfigInput), {})).rejects.toThrow();
    const undrawn = {
      id: 'x',
      observationSpace: { kind: 'discrete', n: 2 },
      actionSpace: { kind: 'discrete', n: 2 },
    };
    const environment = {
      ...undrawn,
      reset: () => 0,
      step: () => ({ observation: 1, reward: 1, terminated: true, truncated: false }),
    } as never;
    await expect(
      assemble(parseConfig({ ...config, feedback: vision } as ConfigInput), {}, undefined, { environment }),
    ).rejects.toThrow(/feedback\.from.*can't be drawn/s);
    const module = createScriptedModel([]);
    await expect(
      assemble(parseConfig({ ...config, feedback: vision } as ConfigInput), {}, undefined, {
        feedback: module,
      }),
    ).rejects.toThrow(/scripted\/model doesn't declare that it can see images/);
  });

  it('from a person is rejected if nobody can be asked, unless a view shows the run', () => {
    const place = temporaryDirectory();
    const asking = parseConfig(config);
    const run = join(place, 'new');
    expect(() => requirePerson(asking, run, undefined)).toThrow(/feedback\.from.*nobody can be asked/s);
    expect(() => requirePerson(asking, run, async () => '')).not.toThrow();
    const unmark = markViewed(place)!;
    expect(isViewed(run)).toBe(true);
    expect(() => requirePerson(asking, run, undefined)).not.toThrow();
    expect(markViewed(place)).toBeUndefined();
    unmark();
    expect(readdirSync(place)).toEqual([]);
    expect(() => requirePerson(asking, run, undefined)).toThrow(UserError);
    expect(markViewed(join(place, 'none'))).toBeUndefined();
    const replayed = parseConfig({ ...config, model: { provider: 'replayed', run: place } });
    expect(() => requirePerson(replayed, run, undefined)).not.toThrow();
  });

  it('from a person is rejected in the runs of a plan', async () => {
    const { context } = recordingContext(temporaryDirectory());
    const entry = { config: parseConfig(config), path: 'one' };
    const plan = { kind: 'sweep', entries: [entry], sharesLimits: false } as const;
    const place = { directory: context.cwd } as never;
    await expect(
      playPlan(plan, place, { json: false, quiet: true }, context, () => undefined),
    ).rejects.toThrow(/feedback\.from.*only works in single runs/s);
    expect(readdirSync(context.cwd)).toEqual([]);
  });
});
