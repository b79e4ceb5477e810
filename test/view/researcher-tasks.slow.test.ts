/** Questions of researchers, each at most three clicks from the list; skipped if no browser is installed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeSyntheticRun } from '../../bench/synthetic-run.js';
import { openBrowser } from '../support/browser.js';
import { startCommand } from '../support/command.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { writeRun, writeTraining } from '../support/written-runs.js';
import { chromium, startedView, type Viewed } from './viewed.js';

const most = 3;
const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
const lastWeek = new Date(Date.now() - 7 * 24 * 3_600_000).toISOString().slice(0, 10);

/** Turns the run of a baseline into one of a language model, whose last proposal is the best. */
function asOfLanguageModel(run: string): void {
  const change = (file: string, changed: (text: string) => string) =>
    writeFileSync(join(run, file), changed(readFileSync(join(run, file), 'utf8')));
  change('manifest.json', (text) => {
    const manifest = JSON.parse(text.replaceAll('baseline/random', 'openai/small'));
    const usage = { ...manifest.usage, cost: 5 };
    return JSON.stringify({ ...manifest, usage, created: new Date().toISOString() });
  });
  change('config.yaml', (text) => text.replace('provider: random', 'provider: openai\n  name: small'));
  change('evaluations.jsonl', (text) => {
    const lines = text.trimEnd().split('\n');
    const last = { ...JSON.parse(lines.at(-1)!), score: 99 };
    return `${[...lines.slice(0, -1), JSON.stringify(last)].join('\n')}\n`;
  });
}

/** A project with runs of two models, a run that failed, a run of this week, a sweep, and a training run. */
async function project(place: string): Promise<void> {
  const runs = join(place, 'buffers');
  for (const seed of seeds) {
    const scores = [10, 20, 30 + seed, 40 + seed];
    writeRun(join(runs, `alpha-${seed}`), { seed, model: 'alpha', confirmed: 100 + seed, scores });
    writeRun(join(runs, `beta-${seed}`), {
      seed,
      model: 'beta',
      confirmed: 50 + 2 * seed,
      scores,
      config: { evaluation: { episodes: 7 } },
    });
  }
  writeRun(join(runs, 'run-7'), {
    seed: 7,
    model: 'gamma',
    scores: [10, 20, null, null],
    status: 'failed',
    reason: { kind: 'no-proposals', message: 'the reply contains 3 of 10 numbers' },
    config: { policy: { kind: 'linear' } },
  });
  await writeSyntheticRun(join(runs, 'of-this-week'), { iterations: 20, candidates: 1, history: 5 });
  asOfLanguageModel(join(runs, 'of-this-week'));
  const calls = join(runs, 'of-this-week', 'calls.jsonl');
  const time = new Date().toISOString();
  const lines = readFileSync(calls, 'utf8').trimEnd().split('\n');
  writeFileSync(
    calls,
    lines
      .map(
        (line, i) =>
          `${JSON.stringify({ ...JSON.parse(line), time, cost: 0.25, ...(i === 3 && { outcome: { kind: 'rejected', failure: { kind: 'missing' } } }) })}\n`,
      )
      .join(''),
  );
  const metrics = [
    { kind: 'start', step: 0, totalSteps: 40, time },
    ...Array.from({ length: 40 }, (_, i) => {
      return { kind: 'step', step: i + 1, totalSteps: 40, loss: 2 / (i + 1), tokens: 100 };
    }),
    { kind: 'validation', step: 20, loss: 0.125, best: true },
    { kind: 'validation', step: 40, loss: 0.5, best: false },
  ];
  writeTraining(join(runs, 'training'), metrics, { outcome: { ended: 'complete', step: 40 } });
  const searched =
    'sweep cartpole-numeric model.provider=hill-climb model.sigma=0.1,1 seed=1..6 iterations=6';
  const sweep = startCommand(place, [
    ...searched.split(' '),
    ...['evaluation.episodes=5', 'confirmation={candidates: 1, episodes: 20}', '--quiet'],
  ]);
  const { code, stderr } = await sweep.ended;
  expect(code, stderr).toBe(0);
}

/** A link, button, box or summary whose text or label matches. */
const clickOn = (pattern: RegExp) => `(() => {
  const pattern = new RegExp(${JSON.stringify(pattern.source)}, 'i');
  const all = [...document.querySelectorAll('a, button, summary, input, label')];
  const found = all.find((one) => one.getClientRects().length > 0 && !one.disabled && pattern.test(one.getAttribute('aria-label') ?? (one.textContent.trim() || one.placeholder || '')));
  if (found === undefined) return false;
  found.click();
  found.focus();
  return true;
})()`;

describe.skipIf(chromium === undefined)('the view answers within three clicks', () => {
  let view: Pick<Viewed, 'browser' | 'until' | 'close'> & { readonly home: () => Promise<void> };
  beforeAll(async () => {
    const place = temporaryDirectory();
    await project(place);
    const browser = await openBrowser(chromium!);
    const { end, url } = await startedView(place, 'buffers');
    const until = async (expression: string) => {
      const deadline = Date.now() + 100_000;
      while (!(await browser.evaluate<boolean>(expression).catch(() => false))) {
        if (Date.now() > deadline)
          throw new Error(
            `never true: ${expression}; the page says: ${(await browser.evaluate<string>(`document.body.innerText`)).slice(0, 1500)}`,
          );
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    view = {
      browser,
      until,
      async home() {
        await browser.evaluate(`location.href = ${JSON.stringify(url)}; undefined`);
        await until(
          `document.querySelector('main table') !== null && document.body.innerText.includes('alpha-1')`,
        );
      },
      async close() {
        await browser.close();
        await end();
      },
    };
  });
  afterAll(() => view?.close());

  /** Text after `=` is typed into what the click focuses. */
  it.each<
    readonly [question: string, clicks: readonly (RegExp | readonly [RegExp, string])[], answer: RegExp]
  >([
    [
      'which step size is best, and is the difference significant?',
      [/^sweep-/],
      /has the highest mean return.*(better|open|no evidence|significant|verdict)/is,
    ],
    ['why did run 7 fail?', [/^run-7/], /3 of 10 numbers/],
    [
      'what did the model see before its best proposal?',
      [/^of-this-week/, /^iteration \d+/, /^Prompt/],
      /(system|user)[\s\S]*CartPole|params|cart/i,
    ],
    [
      'what did this week cost?',
      [[/model\.temperature=|text, or/, `started=${lastWeek}..`]],
      /15 of \d+ runs.*cost 5/,
    ],
    ['which model fails most?', [[/^e\.g\. model/, 'model']], /gamma[\s\S]*failed/],
    ['what did a run cost?', [/^of-this-week/], /5\.00/],
    ['how do the replies of a run fail?', [/^of-this-week/], /Failures[\s\S]*missing/],
    [
      'what does each model reach, on average over seeds?',
      [[/^e\.g\. model/, 'model']],
      /alpha[\s\S]*104\.5[\s\S]*beta[\s\S]*59/,
    ],
    [
      'is alpha better than beta?',
      [[/^e\.g\. model/, 'model'], /^Compare all groups|select the group alpha/],
      /higher|lower|better/i,
    ],
    [
      'how do the configs of two runs differ?',
      [/^select alpha-1$/, /^select beta-1$/, /^Compare/],
      /evaluation\.episodes[\s\S]*7/,
    ],
    ['when was the training at its best?', [/^training/], /0\.125[\s\S]*step 20|step 20[\s\S]*0\.125/],
    [
      'which runs have seed 3?',
      [[/model\.temperature=|text, or/, 'seed=3']],
      /alpha-3[\s\S]*beta-3|beta-3[\s\S]*alpha-3/,
    ],
  ])('%s', async (_question, clicks, answer) => {
    const { browser, home, until } = view;
    expect(clicks.length).toBeLessThanOrEqual(most);
    await home();
    for (const click of clicks) {
      const [pattern, typed] = click instanceof RegExp ? [click, undefined] : click;
      await until(clickOn(pattern));
      if (typed !== undefined)
        await browser.evaluate(`(() => {
          const field = document.activeElement;
          Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, ${JSON.stringify(typed)});
          field.dispatchEvent(new Event('input', { bubbles: true }));
          field.dispatchEvent(new Event('change', { bubbles: true }));
          field.form?.requestSubmit();
        })()`);
    }
    await until(
      `new RegExp(${JSON.stringify(answer.source)}, ${JSON.stringify(answer.flags)}).test(document.body.innerText)`,
    );
  });
});
