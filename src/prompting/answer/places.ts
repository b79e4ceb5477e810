/** What a set is by its place: which words lead to it, and whether they call it the answer. */
import type { NumberSet } from './number-set.js';
import { rankOf, saysNothing, senseOf } from './words.js';

/** The words that lead to a set. */
export interface Lead {
  /**
   * `label`: they end with a colon or an equals sign; `heading`; `sentence`: they stand on the line before; `inline`: the
   * set is part of their sentence; `start`: nothing stands before it in the reply; `set`: another set does.
   */
  readonly kind: 'label' | 'heading' | 'sentence' | 'inline' | 'start' | 'set';
  readonly text: string;
  /** The label on the lines before, where the set has one on its own line. */
  readonly outer?: Lead;
}

export type Place = Pick<NumberSet, 'role' | 'rank'>;

const mention: Place = { role: 'mention', rank: 0 };
/** `I'll keep the direction:`, but not `I'll raise them by:`. */
const announces =
  /\b(?:i|we)(?:['\u2019]ll| will| would|['\u2019]d) (?:\w+ )?(?:keep|continue|stay|move|push|follow|step|shift|explore|combine|increase|raise|lower|decrease|reduce|adjust)\b[^.!?]*(?<!\bby)\s*[:=]\s*$/i;
const open: Place = { role: 'open', rank: 0 };

/**
 * The place of a set. What is named `params[0]` needs no words for an answer; a bare list does, unless the reply begins
 * with it.
 */
export function placeOf(lead: Lead, context: { bare: boolean; section?: string }): Place {
  const own = ownPlace(lead, context);
  const outer = lead.outer && ownPlace(lead.outer, { ...context, bare: false });
  return outer === undefined || outer.role === 'proposal' || own.role === 'mention' ? own : outer;
}

function ownPlace({ kind, text }: Lead, { bare, section = '' }: { bare: boolean; section?: string }): Place {
  if (kind === 'start') return { role: 'proposal', rank: 0 };
  // `params += [1, 2]` is a change.
  if (kind === 'label' && /[-+*/%]\s*=\s*$/.test(text)) return open;
  const isQuoting = section !== '' && senseOf(section) === 'mention';
  if (kind === 'set') return isQuoting ? mention : bare ? open : { role: 'proposal', rank: 0 };
  if (!bare && kind !== 'inline' && saysNothing(text))
    return { role: isQuoting ? 'mention' : 'proposal', rank: 0 };
  const sense = senseOf(text, bare || kind === 'inline');
  const rank = rankOf(text);
  if (sense === 'proposal') return { role: isQuoting && kind === 'sentence' ? 'mention' : 'proposal', rank };
  if (kind === 'sentence' && !bare) return sentencePlace(text, sense === 'mention', isQuoting);
  if (sense === 'mention') return mention;
  if (sense === 'unknown' && kind === 'label' && !bare && announces.test(text))
    return { role: 'proposal', rank };
  if (sense === 'both') return open;
  return kind === 'heading' && !bare ? { role: 'proposal', rank: 0 } : open;
}

/** A sentence of its own tells of a set behind it only where it points there, or runs into it. */
function sentencePlace(text: string, mentions: boolean, isQuoting: boolean): Place {
  if (isQuoting) return mention;
  const pointing = /\b(?:below|following|follows?|here|this|these)\b/i.test(
    text
      .slice(-240)
      .split(/[.!?]\s/)
      .at(-1)!,
  );
  const runsOn = !/[.!?"'\u2026]\s*$/.test(text);
  const isTitle = text.trim().split(/\s+/).length <= 3;
  if (mentions && (runsOn || isTitle)) return mention;
  return mentions && pointing ? open : { role: 'proposal', rank: rankOf(text) };
}
