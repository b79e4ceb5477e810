/** A directory whose every text wants to run in the page that shows it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeSyntheticRun } from '../../bench/synthetic-run.js';

const does = 'globalThis.executed=1';

/** Each sets `executed` where it runs. */
export const hostileTexts: readonly string[] = [
  `<script>${does}</script>`,
  `</script><script>${does}</script>`,
  `<img src=x onerror="${does}">`,
  `"><img src=x onerror=${does}>`,
  `<svg onload=${does}>`,
  `<svg><script>${does}</script></svg>`,
  `<details open ontoggle=${does}>`,
  `<iframe src="javascript:${does}"></iframe>`,
  `<iframe srcdoc="<script>parent.${does}</script>"></iframe>`,
  `<a href="javascript:${does}">click</a>`,
  `<input autofocus onfocus=${does}>`,
  `<video><source onerror=${does}></video>`,
  `<object data="javascript:${does}"></object>`,
  `<meta http-equiv="refresh" content="0;url=javascript:${does}">`,
  `<base href="http://evil.example/">`,
  `<style>@import 'http://evil.example/x.css';</style>`,
  `--><script>${does}</script>`,
  `\${${does}}`,
  `{{constructor.constructor('${does}')()}}`,
  `\u2028${does}\u2029`,
  `\\u003cscript\\u003e${does}\\u003c/script\\u003e`,
  `&lt;script&gt;${does}&lt;/script&gt;`,
  `<scr\0ipt>${does}</scr\0ipt>`,
  `<noscript><p title="</noscript><img src=x onerror=${does}>">`,
  `\r\n\r\nevent: items\r\ndata: {"whole":true,"changed":null}\r\n\r\n`,
];

/** The name of a run may be anything but a path. */
export const hostileName = `<img src=x onerror=${does}>`;

/** Writes a run and a training that say these texts wherever a text may stand. */
export async function writeHostileDirectory(place: string): Promise<void> {
  const run = join(place, hostileName);
  await writeSyntheticRun(run, { iterations: hostileTexts.length, candidates: 1, history: 3 });
  const edit = (file: string, change: (text: string) => string) =>
    writeFileSync(join(run, file), change(readFileSync(join(run, file), 'utf8')));
  edit('calls.jsonl', (text) =>
    text
      .trimEnd()
      .split('\n')
      .map((line, i) => {
        const hostile = hostileTexts[i]!;
        const call = JSON.parse(line) as {
          completion: object;
          messages: { role: string; content: unknown }[];
        };
        const messages = call.messages.map(({ role }) => ({ role, content: `${hostile}\n${role}` }));
        const outcome =
          i % 3 === 0
            ? { kind: 'error', error: 'server', message: hostile, retries: 0, latencyMs: 1 }
            : undefined;
        return JSON.stringify({
          ...call,
          messages,
          ...(outcome && { outcome }),
          completion: { ...call.completion, text: hostile, reasoning: hostile, warnings: [hostile] },
        });
      })
      .map((line) => `${line}\n`)
      .join(''),
  );
  edit('manifest.json', (text) => {
    const manifest = JSON.parse(text) as object;
    const [model, commit, message] = hostileTexts.slice(2, 5);
    return JSON.stringify({
      ...manifest,
      run: hostileName,
      model,
      environment: 'CartPole-v1<script>',
      status: 'failed',
      reason: { kind: 'model-error', message },
      versions: { policyloop: hostileTexts[0], node: hostileTexts[1], commit },
    });
  });
  const warnings = hostileTexts.map((message) => JSON.stringify({ kind: 'warning', message, time: '' }));
  edit('events.jsonl', (text) => `${warnings.join('\n')}\n${text}`);
  edit('config.yaml', (text) => `${text}\n# ${hostileTexts.slice(0, 3).join(' ')}\n`);
  writeFileSync(join(run, 'labels.json'), JSON.stringify({ tags: [`<svg/onload=1>`] }));
  const training = join(place, 'training');
  mkdirSync(training);
  const metrics = [
    { kind: 'start', step: 0, totalSteps: 9 },
    ...hostileTexts.map((message, i) => ({ kind: 'alarm', step: i, message, hint: message })),
    ...[1, 2, 3].map((step) => ({ kind: 'step', step, loss: 1, [hostileTexts[step]!]: step })),
  ];
  writeFileSync(join(training, 'metrics.jsonl'), metrics.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const [name, path] = hostileTexts;
  const outcome = { ended: 'failed', step: 1, message: name };
  writeFileSync(
    join(training, 'training.json'),
    JSON.stringify({
      method: name,
      base: { model: path },
      dataset: { path: name },
      config: { [name!]: path },
      outcome,
    }),
  );
  writeFileSync(join(training, 'index.html'), hostileTexts.join('\n'));
}
