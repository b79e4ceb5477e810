/** Which sets a list or an object holds, by the names on the way to them. */
import { type Contents, indexedContents, listContents, type NumberSet, namedContents } from './number-set.js';
import type { Node } from './objects.js';
import { type Lead, type Place, placeOf } from './places.js';
import type { Value } from './values.js';
import { senseOf } from './words.js';

export interface FoundSet {
  readonly contents: Contents;
  readonly place: Place;
  readonly naming: NumberSet['naming'];
}

/** What the entries around a set say of it. */
type Beside = 'nothing' | 'score' | 'factor';

const scoreKey = /^(?:f(?:\(params\))?|score|return|reward|fitness|performance|mean_return)$/i;
const indexKey =
  /^(params?|parameters?|weights?|w|x|p|q|s|states?|cells?|theta|b|bias)?[ ._]?[[(]? ?(\d{1,9})? ?[\])]?$/i;

/** Entries that change what the numbers beside them mean, or take them back. */
const altering = /scale|factor|multipl|units?$|offset|divisor/i;
const isFalse = (node: Node) =>
  node.kind === 'value' && node.value.kind === 'malformed' && /^false$/i.test(node.value.text);

export function nodeSets(node: Node, count: number, lead: Lead, section: string): readonly FoundSet[] {
  const found: FoundSet[] = [];

  /** @param path names of the entries that the node is in */
  function visit(at: Node, path: readonly string[], beside: Beside): void {
    if (at.kind === 'list') {
      const values = valuesOf(at);
      if (values !== undefined) {
        add(listContents(values.items, count, values.closed), path, beside, 'list');
        return;
      }
      for (const item of at.items) visit(item, path, beside);
    } else if (at.kind === 'object') {
      const isScored = at.entries.some(([key, { kind }]) => scoreKey.test(key) && kind === 'value');
      const isAltered = at.entries.some(([key, entry]) => altering.test(key) || isFalse(entry));
      const own = isScored ? 'score' : isAltered ? 'factor' : beside;
      const contents = namedEntries(at.entries, count);
      if (contents !== undefined) add(contents, path, own, 'params');
      for (const [key, entry] of at.entries)
        if (entry.kind === 'list' || entry.kind === 'object') visit(entry, [...path, key], own);
    }
  }

  function add(
    contents: Contents,
    path: readonly string[],
    beside: Beside,
    naming: NumberSet['naming'],
  ): void {
    if (contents.found === 0) return;
    // A list under a name is no stray one.
    const isNamed = path.length > 0 || (lead.kind === 'label' && senseOf(lead.text, true) === 'proposal');
    const place = placed(path, naming);
    const role =
      beside === 'score' ? 'mention' : beside === 'factor' && place.role === 'proposal' ? 'open' : place.role;
    found.push({ contents, naming: isNamed ? 'params' : naming, place: { ...place, role } });
  }

  function placed(path: readonly string[], naming: NumberSet['naming']): Place {
    if (path.length === 0) return placeOf(lead, { bare: naming === 'list', section });
    const senses = path.map((key) => senseOf(key, true));
    if (senses.includes('mention')) return { role: 'mention', rank: 0 };
    if (senses.some((sense) => sense !== 'proposal')) return { role: 'open', rank: 0 };
    const own = placeOf(lead, { bare: false, section });
    return own;
  }

  visit(node, [], 'nothing');
  return found;
}

/** The numbers of a list, those of lists in it one after the other; undefined where it holds anything else. */
function valuesOf(list: Node & { kind: 'list' }): { items: readonly Value[]; closed: boolean } | undefined {
  const items: Value[] = [];
  let closed = list.closed;
  for (const item of list.items) {
    if (item.kind === 'value') items.push(item.value);
    else if (item.kind === 'text') items.push({ kind: 'word', text: item.text.slice(0, 24) });
    else if (item.kind === 'list') {
      const inner = valuesOf(item);
      if (inner === undefined) return undefined;
      // Not spread: a list may hold more items than a call takes.
      for (const value of inner.items) items.push(value);
      closed &&= inner.closed;
    } else return undefined;
  }
  return { items, closed };
}

/** An object whose entries name the parameters; a text beside them explains. */
function namedEntries(entries: (Node & { kind: 'object' })['entries'], count: number): Contents | undefined {
  const assignments = entries.flatMap(([key, node]) => {
    const match = indexKey.exec(key);
    if (node.kind !== 'value' || match === null || (match[2] === undefined && !/^b(?:ias)?$/i.test(key)))
      return [];
    const index = match[2] === undefined ? undefined : Number(match[2]);
    return [{ stem: (match[1] ?? '').toLowerCase(), index, value: node.value }];
  });
  const others = entries.filter(
    ([key, node]) => node.kind === 'value' && !indexKey.test(key) && !scoreKey.test(key),
  );
  if (assignments.length === 0 || others.length > 0) return undefined;
  return assignments.every(({ stem }) => /^(?:params?|parameters?)?$/.test(stem))
    ? indexedContents(
        assignments.map(({ index, value }) => [index ?? 0, value] as const),
        count,
      )
    : namedContents(assignments, count);
}
