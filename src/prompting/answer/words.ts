/** What the words around numbers make of them. English, the language of the prompts; other words decide nothing. */

/** What a set of numbers is by the words that lead to it. */
export type Sense =
  /** The answer, by a word for one. */
  | 'proposal'
  /** Something else: earlier parameters, an example, a bound, a score. */
  | 'mention'
  /** Words for both. */
  | 'both'
  /** No word that tells. */
  | 'unknown';

const words = (text: string) => new Set(text.trim().split(/\s+/));

const finals = words('final finally answer answers decision conclusion submit submission boxed');
/** Words by which someone proposes. */
const strong =
  words(`propose proposed proposes proposing proposal suggest suggested suggestion recommend recommended
  recommendation try trying use using choose chosen choice select selected pick go going decide decided submit`);
/** Words that announce something, which the noun behind them tells. */
const weak =
  words(`next new set let lets here following below updated revised improved adjusted modified refined tuned
  optimised optimized candidate guess explore better output result response solution option`);
/** Nouns for what is asked; alone they make a label of an answer. */
const nouns = words(`param params parameter parameters value values vector policy weights weight configuration
  config settings setting table list array theta w x action actions q actor q-table`);
/** Nouns for one more proposal; before a bare list they might as well tell of a difference. */
const things =
  words(`step move point shot try attempt version idea combination setup bet update one pair tuple
  different bolder stronger smaller larger`);
const functionWords =
  words(`a an the my is are be it i we you this these those that which will would should shall
  can could ll s to of for in on with as and so then now am at by me our your all please sure okay ok great well
  therefore hence thus follows believe think const var one two set another number numbers json text python yaml plain txt line bold careful`);
const prepositions = words('for with of that to in which on at by after where given based so because since');
/** Words for what is no proposal. */
export const mentioning =
  words(`best worse worst previous previously prior earlier last old older oldest original
  initial initially starting former formerly past history historical before far current currently existing known
  baseline reference changed moved raised lowered increased decreased reduced beat beats
  improves exceeds outperforms differs compared comparison versus vs unlike tried evaluated tested seen observed was were had gave got
  scored reached achieved yielded returned failed did bad poor wrong mistake incorrect avoid avoided not don dont never no
  cannot won shouldn isn without example examples eg instance illustration illustrative sample template
  placeholder placeholders dummy hypothetical hypothetically if might suppose supposing imagine assume assuming
  assumed min minimum minima minimal max maximum maxima maximal lower lowest upper highest low high bound bounds limit
  limits limiting range ranges iteration iterations episode episodes trial trials evaluation evaluations attempt
  attempts score scores scoring reward rewards return returns gradient gradients delta deltas change changes
  difference differences diff std stddev deviation deviations mean means average averages error errors noise seed seeds
  thought thoughts thinking analysis reasoning reason reflection draft drafts scratch notes rejected discarded excluded
  forbidden legend meaning meanings dimensions dims dimension shape size sizes sigma sigmas variance
  importance sensitivity probability probabilities confidence temperature than from quote quoted
  prompt invalid outdated obsolete withdrawn wasn weren didn doesn none neither nor except opposite
  backup fallback alternative alternatives considered unit units`);
const fromThere = /\b(?:from|over|beyond|upon|than)\b(?=\s+\w).*$/s;

/** Words whose object is what follows. */
const pointsBack =
  /\b(?:than|from|instead of|in place of|out of|unlike|versus|vs|over|beats?|like|near|around)\s*(?:the|these|those|parameters|params)?\s*$/i;

/** How many of the last characters of a text tell what follows. */
const readBack = 240;

function wordsOf(text: string): readonly string[] {
  return text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/\([^()]*\)/g, ' ')
    .split(/[^\p{L}]+/u)
    .filter(Boolean);
}

/** The last sentence or clause of what stands before a set. */
function clauseOf(lead: string): string {
  const last = lead.slice(-readBack).trimEnd();
  const body = last.replace(/[\s:=.!?,;>-]+$/, '');
  return body.slice(
    Math.max(...[...body.matchAll(/[.!?;,:](?=\s)|\n|—| - /g)].map(({ index }) => index + 1), 0),
  );
}

/** @param strict whether a word that is neither known nor a function word leaves the sense open */
export function senseOf(lead: string, strict = false): Sense {
  const clause = clauseOf(lead)
    .replace(/\bon (?:second|further|closer) \w+/i, 'revised')
    .replace(/\b(?:for |next )+(?:iteration|evaluation|trial)\b(?: #?\d+)?/i, 'next');
  if (pointsBack.test(clause)) return 'mention';
  const own = clause.replace(fromThere, '');
  // A number in a label may be another one of the list.
  if (strict && /\d/.test(own.replace(/\([^()]*\)/g, ' '))) return 'unknown';
  const sense = senseOfWords(wordsOf(own), strict);
  // `A step from the best so far:` speaks of the step; only where that is a word for an answer.
  return sense === 'proposal' ? sense : senseOfWords(wordsOf(clause), strict);
}

function senseOfWords(all: readonly string[], strict: boolean): Sense {
  const proposes = all.some((word) => strong.has(word) || finals.has(word));
  const announces = proposes || all.some((word) => weak.has(word));
  if (all.some((word) => mentioning.has(word))) return announces ? 'both' : 'mention';
  if (!announces && !all.some((word) => nouns.has(word))) return 'unknown';
  const known = strict ? all.every((word) => isKnown(word)) : proposes || hasKnownHead(all);
  return known ? 'proposal' : 'unknown';
}

/** Whether a lead is no more than `Sure:`. */
export const saysNothing = (lead: string): boolean =>
  wordsOf(lead.replace(/^\s*\(|\)\s*$/g, '')).every((word) => functionWords.has(word));

const isKnown = (word: string) =>
  [strong, weak, finals, nouns, functionWords].some((known) => known.has(word));

/** Whether the noun that a label is about is one for an answer: `Here is a set with larger gains`. */
function hasKnownHead(all: readonly string[]): boolean {
  const end = all.findIndex((word, i) => i > 0 && prepositions.has(word));
  const head = (end < 0 ? all : all.slice(0, end)).findLast(
    (word) => (word.length > 1 && !functionWords.has(word)) || things.has(word),
  );
  return head === undefined || isKnown(head) || things.has(head);
}

/** Words for one of several. */
const counted = words('option candidate guess');

/** Words that add a proposal to another one: it replaces none. */
const adding = words('also another alternatively or');

/** How strongly the words before a set call it the answer: 2 the final one, 1 a proposal, 0 not at all. */
export function rankOf(lead: string): 0 | 1 | 2 {
  const all = wordsOf(clauseOf(lead));
  if (all.some((word) => finals.has(word))) return 2;
  if (all.some((word) => adding.has(word))) return 0;
  return all.some((word) => strong.has(word) || (weak.has(word) && !counted.has(word))) ? 1 : 0;
}

/** Whether a sentence says that what it stands beside was evaluated, or is not to be. */
export const judged =
  /\b(?:is|was|were|are|being) (?:the|my|our|an?|still) (?:\w+ )?(?:best|worst|previous|last|old|bad|poor|wrong|example)\b|\bso far\b|\b(?:scored|failed|performed|gave|yielded|reached|achieved|earned|returned|got|had)\b|\bdid (?:not|badly|worse|well|better|poorly)\b|\b(?:was|were|been|is|are) (?:tried|evaluated|tested|rejected|discarded|bad|poor|wrong|worse)\b/i;

/** Whether the sentence around a set speaks of what may be done later. */
export const isHypothetical = (before: string, after: string) =>
  /^\W*(?:if|unless|in case)\b/i.test(before.split(/[.!?]\s/).at(-1)!) ||
  /^[^.!?]*(?<!\b(?:see|check|test|find out) )\bif (?:this|that|it|these|the)\b/i.test(after);
