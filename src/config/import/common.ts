/** Keys with the same meaning in both programs. */
import { plainName } from '../../base/files/files.js';
import { carry, change, type Draft, given } from './draft.js';

/** A token budget that no history reaches, because their prompts show the whole buffer. */
export const wholeHistory = { 'memory.tokens': 10_000_000 };

export const templateOf = ({ theirs }: Draft): string => String(given(theirs, 'llm_si_template_name') ?? '');

/** The last part of the log directory becomes the name of the run. */
export function nameFrom(draft: Draft): void {
  const parts = String(given(draft.theirs, 'logdir') ?? '').split(/[\\/]/);
  const name = plainName(parts.findLast((part) => part !== '') ?? '', '');
  if (name !== '')
    change(draft, 'logdir', 'its last part becomes the name; runs are in --runs-dir', { name });
}

/** Our prompt sets replace their Jinja templates. */
export function setPrompts(draft: Draft, set: 'numeric' | 'semantic'): void {
  const key = 'llm_si_template_name';
  if (templateOf(draft) === '') return;
  const missing =
    templateOf(draft) === 'num_optim_semantics.j2' ? `${templateOf(draft)} does not exist; ` : '';
  if (missing === '') carry(draft, key, { 'prompts.set': set });
  else change(draft, key, `${missing}the set ${set} replaces the templates`, { 'prompts.set': set });
}
