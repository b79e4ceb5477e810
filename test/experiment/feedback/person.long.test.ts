import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../../src/config/config.js';
import { historyLine } from '../../../src/prompting/context/history.js';
import { encodingOf } from '../../../src/prompting/notation/encoding.js';
import { iterationFigures, iterationText } from '../../../src/report/iteration-text.js';
import { renderReport } from '../../../src/report/run-report.js';
import { runFigures, runText } from '../../../src/report/run-text.js';
import { runData } from '../../../src/report/write-report.js';
import { medianEpisode } from '../../../src/rollout/behaviour.js';
import { readWholeRun } from '../../../src/runs/open-run.js';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import { askOf, readQuestion } from '../../../src/runs/requests.js';
import { runLibrary } from '../../../src/studies/library-run.js';
import { readPng } from '../../render/png-reader.js';
import {
  readRunFile,
  recordingContext,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
  temporaryDirectory,
} from '../../support/experiments.js';
import { fakeTerminal } from '../../support/fake-terminal.js';
import { asking as config, feedbackCalls, lines, typist } from './asking.js';

const encoding = encodingOf({ count: 10, kind: 'float', low: -6, high: 6, decimals: 1 }, 'numeric');

describe('a person', () => {
  it('is asked about the median episode of the best candidate, and later prompts show the answer', async () => {
    const person = typist(lines);
    const model = seededModel();
    const { path, events } = await runExperimentFrom({ ...config, candidates: 2 }, { model, ...person });
    const { calls, entries } = readRun(path);
    const told = events.filter((event) => event.kind === 'feedback');
    expect(told.map(({ iteration, result }) => [iteration, result])).toEqual([
      [2, 'given'],
      [4, 'skipped'],
      [6, 'given'],
    ]);
    for (const { candidate, episode, iteration } of told) {
      const own = entries.filter((entry) => entry.iteration === iteration);
      const best = own.toSorted((a, b) => b.score - a.score || a.candidate - b.candidate)[0]!;
      expect([candidate, episode]).toEqual([best.candidate, medianEpisode(best.returns)]);
      const [question] = feedbackCalls(path).filter((call) => call.iteration === iteration);
      expect(question!.messages[0]!.content).toContain(`a return of ${best.returns[episode]}`);
    }
    const said = entries.filter(({ feedback }) => feedback !== undefined);
    expect(said.map(({ feedback }) => feedback)).toEqual([
      { from: 'person', episode: told[0]!.episode, rating: 4, remark: 'too jerky' },
      { from: 'person', episode: told[2]!.episode, remark: 'the cart drifts' },
    ]);
    const line = `${historyLine(said[0]!, encoding)}\n  feedback of a person who saw an episode of it: rated 4 of 5, “too jerky”\n`;
    for (const call of calls.filter(({ purpose }) => purpose === 'proposal'))
      expect(call.messages[1]!.content.includes(line), `iteration ${call.iteration}`).toBe(
        call.iteration > 2,
      );
  });

  it('giving feedback changes neither the evaluations nor the episodes', async () => {
    const [asked, plain] = [{ model: seededModel(), ...typist(lines) }, { model: seededModel() }];
    const { feedback: _, ...without } = config;
    const [a, b] = [await runExperimentFrom(config, asked), await runExperimentFrom(without, plain)];
    const bare = (path: string) => readRun(path).entries.map(({ feedback: __, ...entry }) => entry);
    expect(bare(a.path)).toEqual(bare(b.path));
    expect(readRunFile(a.path, 'episodes')).toBe(readRunFile(b.path, 'episodes'));
  });

  it('is asked again after an unclear answer, and sees the episode in the terminal and as a GIF', async () => {
    const person = typist(['3 times it fell', '9', '2: falls']);
    const terminal = fakeTerminal(100);
    const { path } = await runExperimentFrom(
      { ...config, iterations: 2 },
      { model: seededModel(), ...person, terminal: terminal.stream },
    );
    expect(feedbackCalls(path).map(({ completion }) => completion!.text)).toEqual(['2: falls']);
    expect(person.shown.join('\n')).toMatch(/is “3” a rating\?[\s\S]*whole number from 1 to 5/);
    expect(terminal.lines().join('\n')).toMatch(/step 0 of \d+ +step \d+ of/);
    expect(person.shown.join('\n')).toContain('feedback-0002.gif');
    const gif = readFileSync(join(path, 'animations', 'feedback-0002.gif'));
    expect(gif.toString('latin1', 0, 6)).toBe('GIF89a');
  });

  it('can answer from another process, but only the open question', async () => {
    const path = join(temporaryDirectory(), 'run');
    const asked: string[] = [];
    const run = runExperimentFrom(
      { ...config, iterations: 4 },
      {
        model: seededModel(),
        path,
        onEvent(event) {
          if (event.kind !== 'feedback-asked') return;
          setImmediate(() => {
            const { question } = readQuestion(path)!;
            asked.push(question);
            askOf(path, { action: 'answer', question: 'iteration 77', rating: 1 });
            askOf(path, { action: 'answer', question, rating: 5, remark: 'steady' });
          });
        },
      },
    );
    await run;
    expect(asked).toEqual(['iteration 2', 'iteration 4']);
    expect(readRun(path).entries.flatMap(({ feedback }) => feedback?.rating ?? [])).toEqual([5, 5]);
    expect(existsSync(join(path, 'question.json'))).toBe(false);
  });

  it('who does not answer in time does not hold up the run', async () => {
    const { path, events } = await runExperimentFrom(
      { ...config, iterations: 2, feedback: { ...config.feedback, minutes: 0.0005 } },
      { model: seededModel() },
    );
    expect(events.find(({ kind }) => kind === 'feedback')).toMatchObject({ result: 'unanswered' });
    expect(readRun(path).entries.every(({ feedback }) => feedback === undefined)).toBe(true);
    expect(readManifest(path).status).toBe('completed');
  });

  it('costs nothing, and the time to answer does not count towards limits', async () => {
    const model = { ...config.model, price: { input: 1, output: 1 } };
    let time = 0;
    const { path } = await runExperimentFrom(
      { ...config, model, iterations: 2, limits: { cost: 1, minutes: 1 } },
      {
        model: seededModel(),
        milliseconds: () => (time += 10),
        ask: async () => {
          time += 2 * 3_600_000;
          return 'slow';
        },
      },
    );
    const [call] = feedbackCalls(path);
    expect(call).toMatchObject({ completion: { usage: {} } });
    expect(call!.completion!.latencyMs).toBeGreaterThan(7_200_000);
    expect(readManifest(path)).toMatchObject({ status: 'completed', reason: { kind: 'iterations' } });
    expect(readManifest(path).activeMs).toBeLessThan(60_000);
    expect(readManifest(path).usage.latencyMs).toBeLessThan(60_000);
    expect(call!.cost).toBeUndefined();
    const others = readRun(path).calls.filter(({ purpose }) => purpose === 'proposal');
    expect(readManifest(path).usage.cost).toBeCloseTo(
      others.reduce((sum, { cost }) => sum + cost!, 0),
      12,
    );
  });

  it.each(['ends the input', 'stops the run', 'aborts it'])(
    'who %s is asked again on resume',
    async (how) => {
      const whole = await runExperimentFrom(config, { model: seededModel(), ...typist(lines) });
      const stop = new AbortController();
      const first = await runExperimentFrom(config, {
        model: seededModel(),
        ...(how === 'ends the input' && typist([lines[0]!, undefined])),
        ...(how === 'stops the run' && { finish: stop.signal }),
        ...(how === 'aborts it' && { abort: stop.signal }),
        ...(how !== 'ends the input' && {
          ask(_: string) {
            stop.abort();
            return new Promise<undefined>(() => undefined);
          },
        }),
      });
      expect(readManifest(first.path)).toMatchObject({
        status: 'interrupted',
        reason: { kind: 'interrupted' },
      });
      expect(existsSync(join(first.path, 'question.json'))).toBe(false);
      const done = how === 'ends the input' ? 3 : 1;
      expect(readManifest(first.path).iterations.done).toBe(done);
      const again = typist(how === 'ends the input' ? lines.slice(1) : lines);
      await resumeExperiment(first.path, { model: seededModel(), ...again });
      expect(readRunFile(first.path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
      const answered = feedbackCalls(first.path).filter(({ outcome }) => outcome.kind === 'accepted');
      expect(answered.map(({ completion }) => completion!.text)).toEqual(lines);
      expect(feedbackCalls(first.path)).toHaveLength(lines.length);
      expect(readManifest(first.path).usage).toMatchObject({
        calls: readManifest(whole.path).usage.calls,
        errors: 0,
      });
      expect(readManifest(first.path).usage.unreported).toBeUndefined();
    },
  );

  it('who answered before the process was killed is not asked again', async () => {
    const whole = await runExperimentFrom(config, { model: seededModel(), ...typist(lines) });
    const killed = new Error('killed');
    const path = join(temporaryDirectory(), 'run');
    const dying = runExperimentFrom(config, {
      ...{ path, model: seededModel(), ...typist(lines) },
      onEvent(event) {
        if (event.kind === 'call-finished' && event.call.purpose === 'feedback') throw killed;
      },
    });
    await expect(dying).rejects.toBe(killed);
    expect(readManifest(path).iterations.done).toBe(1);
    const again = typist(lines.slice(1));
    await resumeExperiment(path, { model: seededModel(), ...again });
    expect(readRunFile(path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
    expect(feedbackCalls(path)).toHaveLength(3);
  });

  it('is not asked in a replay, which takes the answers from the log', async () => {
    const more = { ...config, pipeline: 2, critic: { every: 2 } } satisfies ConfigInput;
    const recorded = await runExperimentFrom(more, { model: seededModel(), ...typist(lines) });
    const replayed = await runExperimentFrom({
      ...more,
      model: { provider: 'replayed', run: recorded.path },
    });
    for (const file of ['evaluations', 'episodes'] as const)
      expect(readRunFile(replayed.path, file)).toBe(readRunFile(recorded.path, file));
    const timeless = (of: string) => readRun(of).calls.map(({ time: _, ...call }) => call);
    expect(timeless(replayed.path)).toEqual(timeless(recorded.path));
    expect(readManifest(replayed.path).usage).toEqual(readManifest(recorded.path).usage);
    expect(existsSync(join(replayed.path, 'animations'))).toBe(false);
    // An answer that was changed in the log is another run.
    const file = join(recorded.path, 'calls.jsonl');
    writeFileSync(file, readFileSync(file, 'utf8').replace('too jerky', 'too slow'));
    const other = runExperimentFrom({ ...more, model: { provider: 'replayed', run: recorded.path } });
    expect(readManifest((await other).path).reason).toMatchObject({ kind: 'model-error' });
  });
});

it('feedback can come from a function passed to the library', async () => {
  const cwd = temporaryDirectory();
  const outside = { ...recordingContext(cwd).context };
  const questions: string[] = [];
  const { directory } = await runLibrary(
    { ...config, iterations: 2 },
    {
      model: seededModel(),
      feedback: {
        id: 'mine',
        generate: ([message], { images = [] }) => {
          questions.push(message!.content);
          for (const image of images) readPng(image);
          return `${images.length > 0 ? 5 : 1}: seen`;
        },
      },
    },
    outside,
  );
  expect(questions).toHaveLength(1);
  expect(readRun(directory).entries.at(-1)!.feedback).toMatchObject({ rating: 5, remark: 'seen' });
  await expect(runLibrary({ ...config }, { model: seededModel() }, outside)).rejects.toThrow(
    /nobody can be asked/,
  );
});

it('a question lists the steps of the episode if the environment cannot be drawn', async () => {
  const questions: string[] = [];
  const environment = {
    id: 'walk',
    observationSpace: { kind: 'discrete', n: 30 },
    actionSpace: { kind: 'discrete', n: 2 },
    reset: () => 0,
    step: (action: unknown) => ({
      ...{ observation: 1, reward: Number(action), terminated: true, truncated: false },
    }),
  } as const;
  await runLibrary(
    { ...config, iterations: 2 },
    {
      ...{ environment, model: seededModel() },
      feedback: {
        id: 'mine',
        generate([message], { images }) {
          questions.push(message!.content);
          expect(images).toBeUndefined();
          return '3';
        },
      },
    },
    recordingContext(temporaryDirectory()).context,
  );
  expect(questions[0]).toMatch(/step \| observation \| action \| reward\n0 \| 0 \| [01] \| [01]\nend/);
});

it('feedback appears in show, iteration details and, with HTML escaped, the report', async () => {
  const evil = '<img src=x onerror=alert(1)>';
  const { path } = await runExperimentFrom(config, {
    model: seededModel(),
    ...typist([`4: ${evil}`, '', 'drifts']),
  });
  const run = await readWholeRun(path);
  const text = runText(run, { top: 1, cwd: '/' });
  expect(text).toMatch(
    /feedback {2}3 questions: 2 answered, mean rating 4 of 5; 3 calls \(included in usage\)/,
  );
  expect(runFigures(run, { top: 1, cwd: '/' }).feedback).toMatchObject({ given: 2, rating: 4, calls: 3 });
  const page = renderReport({ ...runData(run), animations: { episodes: [], files: [] } });
  expect(page).toContain('id="feedback"');
  expect(page).toContain('<span class="chip">feedback</span>');
  expect(page).not.toContain(evil);
  expect(page).toContain('&lt;img src=x');
  expect(iterationText(iterationFigures(run, 2, undefined))).toMatch(/iteration 2, feedback[\s\S]*4: <img/);
});
