import { type Html, html, preformatted } from '../../format/html.js';
import { shellWord } from '../../format/shell-word.js';
import type { Manifest } from '../../runs/manifest.js';
import type { RunData } from '../data/run-data.js';

/** The commands that repeat, check and resume the run, and what must match for the same result. */
export function reproduction(data: RunData): Html {
  const { manifest } = data;
  const commands = [
    '# the same experiment again, in a new directory',
    `npx policyloop run config.yaml --run-dir ${shellWord(`../${manifest.run}-again`)}`,
    '# its best policy on fresh seeds',
    'npx policyloop evaluate .',
    '# go on where it stopped',
    'npx policyloop resume .',
  ];
  return html`<p>In the directory of this file:</p>
${preformatted(commands.join('\n'))}
<p>The same config, seed and version give the same <code>evaluations.jsonl</code>, byte for byte, as far as the model gives the same replies.</p>
${versionTable(manifest)}`;
}

/** What must match for the same result. */
export function versionTable(manifest: Manifest): Html {
  const { policyloop, node, commit } = manifest.versions;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['policyloop', policyloop],
    ['git commit', commit],
    ['Node.js', node],
    ['seed', String(manifest.seed)],
    ['fingerprint of the config', manifest.fingerprint],
    ['hash of the prompt templates', manifest.prompts],
  ];
  return html`<div class="scroll" tabindex="0"><table class="versions"><tbody>${rows.map(
    ([name, value]) =>
      value !== undefined && html`<tr><th scope="row">${name}</th><td><code>${value}</code></td></tr>`,
  )}</tbody></table></div>`;
}
