/** Whether words take back the parameters that stand before them. A reason that speaks of other times takes back nothing. */
import { mentioning } from './words.js';

const imperatives = 'multiply|divide|scale|negate|swap|flip|invert|reverse|double|halve|exchange|mirror';
const parts = 'all|both|each|every|of|these|those|the|my|first|second|last|two|above';
const values = String.raw`values?|numbers?|param(?:eter)?s?(?:\[\d+\])?|weights?|signs?|vector|result|everything`;

const withdrawals = [
  /(?:^|[.!?\n(]|- )\s{0,4}(?:(?:hmm|actually|oh|ah|no)[ ,]{1,3}){0,2}(?:wait|correction|erratum|hold on|my mistake|my bad)(?=\s{0,4}(?:[,.!?:;)\u2014-]|$|\n)|,? (?:that|this|no|i|it)\b)/,
  /(?:^|[.!?\n(]|- )\s{0,4}(?:oops|whoops|oh no|scratch that|strike that)\b/,
  /\b(?:that|this|these|those|it|they|(?:the|this|my|that|these|those) (?:above|first|line|answer|proposal|parameters|values|numbers)|above|params\[\d+\])(?:'s| is| are| was| were| would be| seems?| looks?)(?: \w+){0,2} (?:wrong|incorrect|invalid|mistaken|a mistake|an error|a typo|not (?:quite |really )?right|made up|not correct|not valid|not my (?:final )?(?:answer|proposal)|no proposal|no answer|out of range|(?:an|only an|just an) example(?! of)|a placeholder|placeholders)\b/,
  /\b(?:ignore|disregard|discard|forget|retract|withdraw|scrap|cancel|drop) (?:that|this|it|these|those|them|the (?:above|first|previous|line|answer|parameters|values)|above|my (?:first |previous )?(?:answer|proposal))\b/,
  /\b(?:do not|don't|never|not to|please don't) (?:use|try|evaluate|take|submit|run) (?:that|this|it|these|those|them|the above)\b/,
  /\b(?:that|this|it|these|those|they)(?: (?:was|were|is|are|has been|have been)) (?:already |just )?(?:tried|evaluated|tested|proposed|rejected|discarded)\b(?! that\b)/,
  /\bon (?:reflection|(?:second|further|closer) (?:thoughts?|consideration|look|reflection))\b/,
  /\blet me (?:correct|revise|fix|redo|reconsider|rethink|recompute|recalculate|try again|start over|rewrite)\b(?![^.!?\n]{0,80}\b(?:later|future|next|last|drift)\b)/,
  /\bi (?:made|have made) an? (?:\w+ )?(?:mistake|error|typo)\b(?! (?:in|at|during|with) (?:the |my )?(?:last|previous|earlier|iteration|evaluation))/,
  /\bi (?:take (?:that|it|this) back|withdraw|changed my mind|do not propose|don't propose|meant)\b/,
  /\bi (?:would not|wouldn't) (?:\w+ )?(?:use|propose|try|recommend|suggest|submit|choose|pick|evaluate|take) (?:that|this|it|these|those|them|the above|params)\b/,
  /\bnever ?mind\b|\bnone of (?:these|them|the above)\b|\banswer: none\b|\b(?:can't|cannot|can not) be right\b/,
  /\bi (?:mixed|swapped|confused) (?:them|up|the (?:order|two|values))\b|\bi (?:forgot|missed|dropped|left out) (?:the|a) (?:minus|sign|negative|decimal)\b|\bminus sign in front\b/,
  // What is to be done with the values before they count.
  new RegExp(
    String.raw`(?:^|[.!?\n(])\s{0,4}(?:(?:then|and|but|now|please|sorry|or)[ ,]{1,3}){0,2}(?:${imperatives})(?! of)(?: (?:${parts})){0,4}(?: (?:${values}|it|them|by|both|all|these|those|two)\b|\s{0,4}(?:[.!)]|\n|$))`,
  ),
  new RegExp(
    String.raw`\b(?:${parts}|${values}|they) (?:should|must|need to|have to) (?:\w+ )?be (?:multiplied|divided|scaled|negated|swapped|flipped|inverted|reversed|doubled|halved|exchanged|mirrored)\b`,
  ),
  /\bsigns? (?:flipped|reversed|swapped|inverted)\b|(?:^|\n)\s{0,4}(?:units?|scale|factor|multiplier) {0,2}[:=]\s{0,4}(?:[x\u00d7]? {0,2}\d|\w+\s*(?:[.!]|\n|$))/,
  /\b(?:values|numbers|parameters)\b[^.\n]{0,20}\b(?:times|multiplied|scaled|divided|percent|thousandths|hundredths|tenths)\b(?![^!?\n]{0,80}\b(?:from|than|compared|relative|best|previous|last|earlier|iterations?)\b)/,
  /(?:^|\n)\s{0,8}param(?:eter)?s?(?:\[[^\]\n]{1,12}\])? {0,4}(?:[-+*/%]=|= {0,4}(?:-? {0,2}param|np\.|sorted|list|\[ {0,2}[a-z]))/,
];

/** Right behind a set: what it is called, or the rest of the sentence that it stands in. */
const told = [
  /^[\s)\]}>"']*(?:that|this|these|those|it|they|(?:the )?above|the (?:values|parameters|numbers) above)(?: (?:sets?|values?|parameters?|params|numbers|ones?|line))?(?: (?:was|were) (?:(?:the|my|our) (?:\w+ ){0,2}(?:best|worst|highest|lowest|previous|last|first|earlier|old|values?|parameters?|ones?|set|proposal)|used|from|in|at)\b|(?: already| only| just)? (?:failed\b|(?:got|gave|scored|returned|reached|achieved|yielded) (?:a (?:return|score|reward) of |only )?-?\d)| (?:is|are) (?:only )?from\b| (?:is|are) (?:the|my|our|those) (?:\w+ )?(?:previous|last|old|earlier|current|prior|(?:ones?|values|parameters) (?:of|from|in) (?:iteration|evaluation|trial)))/,
  /^[\s)\]}>"',]*(?:is|was|were|has|had|gave|gives|got|gets|scored|scores|returned|returns|yielded|yields|reached|failed) [a-z\d]/,
];

/** Words that give a parameter another value, the first group of each: a number of the set itself changes nothing. */
const small = String.raw`(?:make|use|set|try|take|let|let's|me|change|raise|lower|increase|decrease|switch|it|that|this|they|i|we|mean|meant|should|must|be|is|to|with|and|the|value|values|a|params?\[\d+\]|first|second|third|last|one|answer|better|no|wait|actually|rather|needs?)`;
const digits = String.raw`(-?(?:\d+(?:\.\d+)?|\.\d+))`;
const corrections = [
  new RegExp(
    String.raw`(?:^|[.!?\n])\s{0,4}(?:no|actually|sorry|hmm|edit|update|instead|rather|or|or rather|or better|better|even better|i'd rather|i would rather|let me rather|alternatively|however|but)\b(?:[\s,:;=([-]{1,4}${small}){0,10}[\s,:=([]{0,4}${digits}`,
    'g',
  ),
  new RegExp(
    String.raw`\b(?:params?\[\d+\]|it|that|this|they|(?:first|second|third|last|one|value|values|parameters?|weights?|bias)) (?:should|must|ought to|has to|have to|needs? to) (?:instead |rather |actually |really )?(?:be|read)[\s:=]{1,3}(?:set to |equal to )?${digits}(?![\d.]*(?: ?%| (?:steps?|points?|percent|times|units?|more|higher|lower|better)\b))`,
    'g',
  ),
  new RegExp(String.raw`\b(?:or rather|or better|make (?:it|that))\b[^.!?\n\d]{0,40}?${digits}`, 'g'),
  new RegExp(
    String.raw`\b(?:use|try|take|prefer)\b[^.!?\n\d]{0,60}${digits}[^.!?\n]{0,20}\binstead\b(?! of)`,
    'g',
  ),
];

/**
 * Whether the text takes back what stands before it; bounded look-ahead makes it linear.
 *
 * @param own the numbers of the set before it, by index
 */
export function withdraws(text: string, own: ReadonlyMap<number, number> = new Map()): boolean {
  const lower = text.toLowerCase().replaceAll('\u2019', "'");
  const [, called = ''] = /\bthese (?:are|were) (?:the |my |our |all |just )?(\w+)/.exec(lower) ?? [];
  return (
    mentioning.has(called) ||
    [...withdrawals, ...told].some((pattern) => pattern.test(lower)) ||
    corrections.some((pattern) => [...lower.matchAll(pattern)].some((match) => changes(match, own)))
  );
}

function changes([words, value]: RegExpExecArray, own: ReadonlyMap<number, number>): boolean {
  const index = [...words.matchAll(/params?\[(\d+)\]/g)].at(-1)?.[1];
  const kept = index === undefined ? [...own.values()] : [own.get(Number(index))];
  return !kept.includes(Number(value));
}

/** Whether the text before a set replaces what stands before it: the set then counts alone. */
export function replacesEarlier(text: string): boolean {
  const lower = text.toLowerCase().replaceAll('\u2019', "'");
  return (
    withdraws(lower) ||
    /(?:^|[.!?\n])\s{0,4}(?:no|actually|sorry|instead|or rather|rather|or better)\b/.test(lower)
  );
}
