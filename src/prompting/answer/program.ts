/** Reads programs, and edits to programs, from replies. */
import { jsonIn } from '../../base/files/json-depth.js';
import { findAnswer } from '../../models/answer-text.js';
import type { ParameterVector } from '../../policies/policy.js';
import { applyEdits } from '../../policies/program/edits.js';
import type { ProgramLibrary } from '../../policies/program/library.js';
import { ProgramFault, programParameters } from '../../policies/program/program.js';
import { isFunction, nodesIn, syntaxTree, topLevelDeclaration } from '../../policies/program/syntax.js';
import { failWith, type ParseContext, type ParseResult, repeatFailure } from './failure.js';

/**
 * Reads a reply's program and adds it to the library: the last code block that defines `act`; failing that, the text
 * outside code blocks if it defines `act`, up to its last brace; failing that, the last block, preferably with `act`.
 */
export function readProgram(reply: string, library: ProgramLibrary, context: ParseContext = {}): ParseResult {
  const { text, hasUnclosedThinking } = findAnswer(reply);
  const { isClosed, source } = findSource(text, context.finishReason === 'length');
  const isCut = hasUnclosedThinking || (context.finishReason === 'length' && !isClosed);
  if (source === undefined) return failWith({ kind: isCut ? 'truncated' : 'missing' });
  return addProgram(originalSource(reply, source), library, context, isCut);
}

/**
 * Applies a reply's search-and-replace blocks to the parent, ignoring an incomplete last one if the reply was cut off.
 * A reply without blocks is read as a whole program.
 */
export function readEdits(
  reply: string,
  parent: ParameterVector,
  library: ProgramLibrary,
  context: ParseContext = {},
): ParseResult {
  const { text } = findAnswer(reply);
  if (!areEdits(text)) return readProgram(reply, library, context);
  const isCut = context.finishReason === 'length';
  try {
    return addProgram(applyEdits(library.program(parent).source, text, isCut), library, context, isCut);
  } catch (error) {
    return failureResult(error, isCut);
  }
}

const areEdits = (text: string) => /^[ \t]*<{5}/m.test(text);

function addProgram(
  written: string,
  library: ProgramLibrary,
  { seen }: ParseContext,
  isCut: boolean,
): ParseResult {
  try {
    const source = library.addDeclarations(written);
    const value = programParameters(library.parse(source));
    const earlierUse = seen?.(value);
    if (earlierUse !== undefined) return failWith(repeatFailure(earlierUse));
    return { ok: true, value: library.add(source) };
  } catch (error) {
    return failureResult(error, isCut);
  }
}

function failureResult(error: unknown, isCut: boolean): ParseResult {
  if (!(error instanceof ProgramFault)) throw error;
  return failWith(isCut ? { kind: 'truncated' } : { kind: 'program', ...error.failure });
}

const definition = /^[ \t]*(?:(?:async )?function\s+\w|(?:const|let|var)\s+\w+\s*=)/m;
const actMention = /\bact\b\s*(?:\(|=)/;
/** Recognises definitions of `act`, even in code with a syntax error. */
const actDefinition =
  /(?:^|[;}])[ \t]*(?:export )?(?:default )?(?:(?:async )?function\s+act\s*\([^{;]{0,500}\{|(?:const |let |var )?act\s*=(?![=>])[^;]{0,500}?(?:=>|\bfunction\b))/m;
/** A sketch replaces code with dots. */
const sketchPattern = /\u2026|\.{3}[ \t]*(?:[}\n]|\*\/)/;

/** True if the code defines `act`; a call, a comment, a signature or a sketch without `return` doesn't count. */
function definesAct(code: string, mayHaveErrors = true): boolean {
  if (!actMention.test(code)) return false;
  try {
    const value = topLevelDeclaration(syntaxTree(code), 'act')?.value;
    if (!isFunction(value)) return false;
    return value.expression || [...nodesIn(value)].some(({ type }) => type === 'ReturnStatement');
  } catch {
    return mayHaveErrors && actDefinition.test(code) && !sketchPattern.test(code);
  }
}

/** A code block, up to the next fence, with the place of its lines in the text. */
interface CodeBlock {
  readonly code: string;
  readonly start: number;
  readonly end: number;
  readonly isClosed: boolean;
}

const fenceLine = /^[ \t]*(`{3,}(?!`)|~{3,}(?!~))([^\n`]*)$/gm;

/** Finds the code blocks. A fence with a label begins a block inside the outer one, such as ```js in ```markdown. */
function codeBlocks(text: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  const openFences: string[] = [];
  const fences = [...text.matchAll(fenceLine)].map(({ 0: line, 1: fence, 2: label, index }) => ({
    fence: fence!,
    closes: (opening: string | undefined) =>
      opening !== undefined && label!.trim() === '' && fence!.startsWith(opening),
    start: index,
    end: index + line.length,
  }));
  for (const [i, { closes, end, fence, start }] of fences.entries()) {
    if (closes(openFences.at(-1))) {
      openFences.pop();
      continue;
    }
    openFences.push(fence);
    const next = fences[i + 1];
    blocks.push({
      code: withoutBlankEnds(text.slice(end + 1, next?.start)),
      start,
      end: (next?.closes(fence) ? next.end : next?.start) ?? text.length,
      isClosed: next !== undefined,
    });
  }
  return blocks;
}

/** Removes the blocks that meet the condition. */
function withoutBlocks(text: string, isRemoved: (block: CodeBlock) => boolean): string {
  let [kept, from] = ['', 0];
  for (const block of codeBlocks(text).filter(isRemoved)) {
    kept += text.slice(from, block.start);
    from = block.end;
  }
  return kept + text.slice(from);
}

const editBlock = /^[ \t]*<{5}.*?(?:^[ \t]*>{5}[^\n]*$|(?![\s\S]))/gms;

/** Returns the source as in the reply: removing thinking also changes code that looks like a tag (`a[result]`). */
function originalSource(reply: string, source: string): string {
  // Try each of the last 20 fences as a start instead of pairing them, because thinking may contain an unpaired one.
  const starts = [...reply.matchAll(/^[ \t]*(?:```|~~~)/gm)].slice(-20);
  const blocks = starts.map(({ index }) => codeBlocks(reply.slice(index))[0]?.code ?? '');
  return blocks.findLast((code) => withoutBlankEnds(findAnswer(code).text) === source) ?? source;
}

/** Removes edits, and code blocks that define or call `act`, from a reply. */
export const withoutProgram = (reply: string): string =>
  withoutBlocks(reply, ({ code }) => actMention.test(code) || areEdits(code)).replaceAll(editBlock, '');

/** Lists all strings in a JSON value. */
const stringsIn = (value: unknown): readonly string[] =>
  typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(stringsIn);

/** Finds the source, and whether its fence or brace is closed. A cut-off source doesn't replace an earlier one. */
function findSource(reply: string, isCut: boolean): { source: string | undefined; isClosed: boolean } {
  // A tool call may be written as text.
  const texts = stringsIn(jsonIn(reply.slice(reply.indexOf('{'), reply.lastIndexOf('}') + 1)));
  const fromJson = texts.findLast((one) => definesAct(one)) ?? texts.findLast((one) => actMention.test(one));
  if (fromJson !== undefined) return findSource(fromJson, isCut);
  // The closing fence may directly follow the last brace.
  const text = reply.replaceAll(/\}(?=(?:```|~~~)[ \t]*$)/gm, '}\n');
  const blocks = codeBlocks(text);
  const outsideText = withoutBlocks(text, () => true);
  const isOutside = blocks.length === 0 ? actMention.test(outsideText) : actDefinition.test(outsideText);
  const start = isOutside ? outsideText.search(definition) : -1;
  const definingBlock = blocks.findLast(({ code, isClosed }) => definesAct(code, isClosed || !isCut));
  if (definingBlock !== undefined || start < 0) {
    const chosen = definingBlock ?? blocks.findLast(({ code }) => actMention.test(code)) ?? blocks.at(-1);
    return { source: chosen?.code, isClosed: chosen?.isClosed ?? false };
  }
  // Outside code blocks, an explanation may follow the program's last brace, and may contain braces of its own.
  const [last, lastOfLine] = [/\}/g, /\}(?=[ \t]?;?$)/gm].map((brace) => {
    const end = [...outsideText.matchAll(brace)].at(-1)?.index ?? -1;
    return withoutBlankEnds(outsideText.slice(start, end < start ? undefined : end + 1));
  });
  const source = [last!, lastOfLine!].find((code) => definesAct(code, false)) ?? last!;
  return { source, isClosed: source.endsWith('}') };
}

const withoutBlankEnds = (code: string) => code.replace(/^(?:[ \t]*\n)+/, '').trimEnd();
