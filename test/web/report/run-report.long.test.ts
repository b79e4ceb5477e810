import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeText } from '../../../src/base/files/text-parts.js';
import type { ChatMessage } from '../../../src/models/language-model.js';
import { summaryOf } from '../../../src/runs/summary.js';
import type { PackedPrompts } from '../../../src/web/report/data/prompt-store.js';
import type { RunData } from '../../../src/web/report/data/proposals.js';
import { renderReport } from '../../../src/web/report/run-report.js';
import { chartIn, chartsIn, collapse, elementsOf, visibleText } from '../shown.js';
import { runFixture } from './run-fixture.js';

const data = runFixture();
const page = renderReport(data);
const text = visibleText(page);

describe('renderReport', () => {
  it('gives the same bytes for the same data', () => {
    expect(renderReport(runFixture())).toBe(page);
  });

  it('creates unique ids and working links', () => {
    const elements = elementsOf(page);
    const ids = elements.flatMap(({ attributes }) => attributes.id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    const links = [
      ...elements.flatMap(({ name, attributes }) => (name === 'a' ? (attributes.href ?? []) : [])),
      ...chartsIn(page).flatMap((chart) => (chart.links ?? []).flatMap((link) => link ?? [])),
    ];
    expect(links.length).toBeGreaterThan(100);
    for (const link of links) expect(ids).toContain(link.slice(1));
    for (const { label } of chartsIn(page)) expect(label).toMatch(/\w/);
  });

  it('loads nothing external, and allows only its own script and style', () => {
    const hash = (content: string) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
    const inside = (tag: string) => new RegExp(`<${tag}>(.*?)</${tag}>`, 's').exec(page)![1]!;
    expect(page).toContain(
      `content="default-src 'none'; style-src ${hash(inside('style'))}; script-src ${hash(inside('script'))}; img-src data:; base-uri 'none'; form-action 'none'"`,
    );
    expect(inside('style')).not.toMatch(/url\(|@import/);
  });

  it('shows the confirmed mean with its interval, and the best observed return', () => {
    const final = data.manifest.confirmations.find(({ stage }) => stage === 'final')!;
    expect(final.mean).toBeLessThan(data.manifest.best!.return);
    expect(text).toContain(
      `Confirmed mean return ${final.mean.toFixed(1)} ${final.ci95![0].toFixed(1)} … ${final.ci95![1].toFixed(1)}`,
    );
    expect(text).toContain(
      `Best observed mean return ${data.manifest.best!.return.toFixed(1)} over 20 episodes`,
    );
    expect(text).toContain('Iterations 100 of 100');
    expect(text).toContain('Evaluations 120 20 in the warm-up');
  });

  it('says if nothing was confirmed', () => {
    const unconfirmed = visibleText(renderReport(runFixture({ unconfirmed: true })));
    expect(unconfirmed).toContain('Confirmed mean return – not confirmed yet');
    expect(unconfirmed).toContain(', not confirmed');
    expect(unconfirmed).toContain('interrupted by the user');
  });

  it('shows every reply, and names absent parameters', () => {
    for (const call of data.calls) {
      if (call.completion !== undefined) expect(text).toContain(collapse(call.completion.text));
    }
    expect(text).toContain('Found 8 of 10 parameters; absent: params[8], params[9].');
  });

  it('counts failed calls, and those with values out of range', () => {
    const failed = data.calls.filter(({ outcome }) => outcome.kind !== 'accepted');
    const ofRange = failed.filter(
      ({ outcome }) => outcome.kind === 'rejected' && outcome.failure.kind === 'range',
    );
    expect(text).toContain(`${failed.length} of ${data.calls.length} calls`);
    expect(text).toContain(`range ${ofRange.length} `);
  });

  it('plots predicted against observed returns, if replies predict any', () => {
    expect(text).not.toContain('Predicted returns');
    const offsets = [-10, 10, 30];
    const calls = [...data.calls].map((call) => {
      const entry = [...data.entries].find(
        ({ candidate, iteration }) => iteration === call.iteration && candidate === call.candidate,
      );
      if (call.outcome.kind !== 'accepted' || entry === undefined || offsets.length === 0) return call;
      return { ...call, outcome: { ...call.outcome, predicted: entry.score + offsets.pop()! } };
    });
    const predicted = renderReport({ ...data, calls });
    expect(visibleText(predicted)).toMatch(
      /Evaluated proposals with a predicted return: 3 of \d+\. Mean absolute error 16\.67, mean error 10\.00/,
    );
    expect(chartsIn(predicted).map(({ label }) => label)).toContain(
      'Predicted and observed returns of 3 proposals.',
    );
  });
});

describe('untrusted text', () => {
  const attack = `</script></style></pre></title>--><script>alert(1)</script><img src=x onerror="alert(1)"> ' " \` & &lt; \u2028 \u202e \0`;
  const poisoned = poison(runFixture({ iterations: 12, failureRate: 0.5, reason: attack }), attack);
  const poisonedPage = renderReport(poisoned);

  it('is never markup', () => {
    expect(poisonedPage.match(/<script/g)).toHaveLength(2);
    expect(poisonedPage).not.toContain('<img src=x');
  });

  it('is still displayed', () => {
    const shown = visibleText(poisonedPage);
    const expected = collapse(attack);
    expect(shown.split(expected).length).toBeGreaterThan(20);
  });

  it('leaves the embedded data readable', () => {
    const log = elementsOf(poisonedPage).find(({ name }) => name === 'proposal-log')!.attributes;
    const [first] = log.prompts as unknown as PackedPrompts;
    const prompt = JSON.parse(decodeText(first!, '')) as ChatMessage[];
    expect(prompt.flatMap(({ content }) => content.split('\n'))).toContain(attack);
    expect(chartIn(poisonedPage).at.length).toBeGreaterThan(1);
  });
});

describe('the report of an unusual run', () => {
  it('says if nothing has been done yet', () => {
    const { confirmations: _, best: __, reason: ___, ...manifest } = data.manifest;
    const empty = renderReport({
      ...data,
      ...summaryOf('', {
        ...manifest,
        status: 'running',
        confirmations: [],
        iterations: { done: 0, of: 100 },
      }),
      entries: [],
      calls: [],
      events: [],
    });
    expect(elementsOf(empty).length).toBeGreaterThan(50);
    expect(visibleText(empty)).toContain('No evaluations.');
    // No process holds it.
    expect(visibleText(empty)).toMatch(/crashed +policy/);
    expect(visibleText(empty)).toContain('The model was not called.');
  });

  it('counts and marks the lost proposals if every call failed', () => {
    const failing = runFixture({ iterations: 5, failureRate: 1, unconfirmed: true });
    const shown = renderReport(failing);
    expect(visibleText(shown)).toContain('5 proposals lost');
    expect(chartIn(shown).marks?.find(({ draw }) => draw === 'cross')?.marks).toHaveLength(5);
  });

  it('groups calls repeated after an interruption under one proposal', () => {
    const repeated = renderReport({ ...data, calls: [...data.calls, data.calls.at(-1)!] });
    const ids = elementsOf(repeated).flatMap(({ attributes }) => attributes.id ?? []);
    expect(ids.filter((id) => id === 'iteration-100-0')).toHaveLength(1);
  });

  it('truncates a reply of several megabytes', () => {
    const [first, ...others] = data.calls;
    const completion = { ...first!.completion!, text: '<'.repeat(3_000_000) };
    const long = renderReport({ ...data, calls: [{ ...first!, completion }, ...others] });
    expect(long.length - page.length).toBeLessThan(1_000_000);
    expect(visibleText(long)).toContain('… and 2\u202f900\u202f000 more characters in calls.jsonl');
  });
});

describe('the size of a report', () => {
  it('stays below 2.5 million characters with 400 iterations and prompts of about 40 KB', () => {
    const long = runFixture({ iterations: 400, historyCharacters: 40_000 });
    const prompts = long.calls
      .flatMap(({ messages }) => messages)
      .reduce((sum, { content }) => sum + content.length, 0);
    expect(prompts).toBeGreaterThan(14_000_000);
    expect(renderReport(long).length).toBeLessThan(2_500_000);
  });
});

/** Puts the text wherever a run directory may hold any. */
function poison(run: ReturnType<typeof runFixture>, attack: string): RunData {
  const { manifest, policy } = run;
  return {
    ...run,
    manifest: {
      ...manifest,
      run: attack,
      environment: attack,
      model: attack,
      reason: { kind: 'model-error', message: attack },
      fingerprint: attack,
      prompts: attack,
      versions: { policyloop: attack, node: attack, commit: attack },
      created: attack,
      updated: attack,
    },
    config: { ...run.config, name: attack },
    configYaml: `name: ${attack}`,
    parameters: { ...run.parameters, names: run.parameters.names!.map((name) => name + attack) },
    policy,
    calls: run.calls.map((call) => ({
      ...call,
      messages: [...call.messages, { role: 'user' as const, content: `x\n${attack}\ny` }],
      ...(call.completion && { completion: { ...call.completion, reasoning: attack, warnings: [attack] } }),
      outcome:
        call.outcome.kind === 'rejected' && call.outcome.failure.kind === 'range'
          ? { ...call.outcome, failure: { ...call.outcome.failure, values: [{ index: 0, text: attack }] } }
          : call.outcome.kind === 'error'
            ? { ...call.outcome, message: attack }
            : call.outcome,
    })),
    events: [{ time: attack, kind: 'warning', message: attack }],
  };
}
