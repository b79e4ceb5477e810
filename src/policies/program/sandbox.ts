/** Runs policies written as JavaScript programs. */
import type { QuickJSHandle } from 'quickjs-emscripten-core';
import { deriveSeeds } from '../../base/random/generator.js';
import { safeLine } from '../../base/terminal-text.js';
import { observationNames } from '../../environments/catalogue/observation-names.js';
import type { Action, EnvironmentSpec, Observation } from '../../environments/environment.js';
import { programAction } from './actions.js';
import { type MachineLimit, type MachineOutcome, type MemoryImage, maxWork, openMachine } from './machine.js';
import { bufferLength, bufferMark, preludeSource } from './prelude.js';
import { type ActingProgram, type ProgramFailure, ProgramFault } from './program.js';

/** Longest source, in characters. */
const maxCharacters = 20_000;
/** Work limit of an episode. */
const maxEpisodeWork = 10 * maxWork;
/** Maximum number of steps that are replayed to continue an interrupted episode; after more, its state is copied. */
const maxReplayedSteps = 1000;

/** A sandbox for programs that act in one environment. */
export interface Sandbox {
  /**
   * Compiles a program. Each episode of its policy starts from the same state, whatever ran before. A fault ends the
   * episode: from then on, its policy throws this fault.
   * @throws ProgramFault for a syntax error, no function `act`, an exception at the top level, or exceeded limits
   */
  build(source: string): ActingProgram;
}

/** Spawn key of a program's random numbers, which keeps them independent of the environment's. */
const randomStream = 0x70726f67;

interface Episode {
  readonly program: CompiledCode;
  readonly seed: number;
  /** The observations so far; undefined if the state is copied instead. */
  history: Observation[] | undefined;
  /** The state, saved while another episode or a compilation uses the machine. */
  savedImage?: MemoryImage;
  /** Work that the episode may still do, out of `maxEpisodeWork`. */
  fuel: number;
  fault?: ProgramFault;
}

/** The state after compiling a program, and the number of its lines. */
interface CompiledCode {
  readonly image: MemoryImage;
  readonly lineCount: number;
}

export async function openSandbox(environment: EnvironmentSpec): Promise<Sandbox> {
  const machine = await openMachine();
  const { context } = machine;
  const source = preludeSource(environment, observationNames(environment));
  const prelude = context.unwrapResult(context.evalCode(source, 'prelude', { type: 'global' }));
  const member = (name: string) => context.getProp(prelude, name);
  const [load, start, step] = [member('load'), member('start'), member('step')];
  const [append, describe] = [member('append'), member('describe')];
  const floats = sharedBuffer(machine.memory, bufferLength(environment));
  const capacity = floats.length - 1;
  const emptyImage = machine.copy();
  let current: Episode | undefined;

  function call(code: QuickJSHandle, ...args: readonly QuickJSHandle[]): MachineOutcome {
    const outcome = machine.run(() => context.callFunction(code, context.undefined, ...args), current?.fuel);
    if (current !== undefined) current.fuel -= machine.spentWork;
    return outcome;
  }

  /** Returns the value of a call. @throws ProgramFault if it failed */
  function unwrap(outcome: MachineOutcome, lineCount: number, observation?: Observation): QuickJSHandle {
    if ('value' in outcome) return outcome.value;
    throw faultOf(outcome, lineCount, observation);
  }

  function faultOf(
    outcome: Exclude<MachineOutcome, { readonly value: QuickJSHandle }>,
    lineCount: number,
    observation?: Observation,
  ): ProgramFault {
    current = undefined;
    const { isLimit = true, ...failure } =
      'limit' in outcome ? { reason: limitTexts[outcome.limit] } : readError(outcome.error, lineCount);
    if (isLimit) machine.reset(emptyImage, true);
    return new ProgramFault({ ...failure, ...(observation !== undefined && { observation }) });
  }

  function readError(error: QuickJSHandle, lines: number): ProgramFailure & { readonly isLimit?: boolean } {
    const outcome = call(describe, error);
    const json = 'value' in outcome ? context.getString(outcome.value) : '';
    // Even the description didn't fit into the memory.
    if (!json.startsWith('[')) return { reason: limitTexts.memory };
    const [name, message, stack] = JSON.parse(json) as [string, string, string];
    const lineNumber = Number(/\bprogram:(\d+)/.exec(stack)?.[1]);
    const line = lineNumber >= 1 && lineNumber <= lines ? { line: lineNumber } : {};
    const limit = /^(Internal|Syntax)Error$/.test(name) ? limitsByMessage[message] : undefined;
    if (limit !== undefined) return { reason: limitTexts[limit], ...line };
    if (message === 'threw null') return { reason: 'threw null, or ran out of memory' };
    return { reason: truncate([name, message].filter(Boolean).join(': ')), ...line, isLimit: false };
  }

  /** Makes room for another episode or a compilation; saves the current episode's state if it can't be replayed. */
  function suspendCurrent(): void {
    if (current !== undefined && current.history === undefined) current.savedImage = machine.copy();
    current = undefined;
  }

  function compile(text: string): CompiledCode {
    if (text.length > maxCharacters)
      throw new ProgramFault({ reason: `longer than ${maxCharacters} characters (${text.length})` });
    const lineCount = text.split(/\r\n|[\n\r\u2028\u2029]/).length;
    const evaluate = (code: string, compileOnly: boolean) =>
      unwrap(machine.evaluate(code, compileOnly), lineCount);
    suspendCurrent();
    machine.reset(emptyImage);
    // Compile the source alone first, so that it can't close the function that is then put around it.
    evaluate(text, true).dispose();
    const ifDeclared = (name: string) => `typeof ${name} === 'undefined' ? 0 : ${name}`;
    const factory = evaluate(
      `(function () { 'use strict'; ${text}\nreturn [${ifDeclared('act')}, ${ifDeclared('constants')}]; })`,
      false,
    );
    unwrap(call(load, factory), lineCount).dispose();
    factory.dispose();
    return { image: machine.copy(), lineCount };
  }

  function begin(episode: Episode): void {
    const { program } = episode;
    machine.restore(program.image);
    episode.fuel = maxEpisodeWork;
    current = episode;
    [floats[0], floats[1]] = deriveSeeds(episode.seed, [randomStream], 2) as [number, number];
    const hasAct = unwrap(call(start), program.lineCount).consume((value) => context.getNumber(value)) === 1;
    if (!hasAct) throw new ProgramFault({ reason: 'no function `act`' });
  }

  /** Makes an episode the current one: restores its saved state, or starts it and replays its steps. */
  function resume(episode: Episode): void {
    suspendCurrent();
    if (episode.savedImage !== undefined) {
      machine.restore(episode.savedImage);
      current = episode;
      return;
    }
    begin(episode);
    if (episode.history === undefined || episode.history.length === 0) return;
    for (const observation of episode.history) runStep(episode, observation);
    episode.history = undefined;
  }

  function runStep({ program }: Episode, observation: Observation): Action {
    const callProgram = (code: QuickJSHandle) => unwrap(call(code), program.lineCount, observation);
    if (typeof observation === 'number') floats[0] = observation;
    else if (typeof observation === 'string') {
      for (let start = 0; start < observation.length; start += capacity) {
        const count = Math.min(capacity, observation.length - start);
        for (let i = 0; i < count; i++) floats[i] = observation.charCodeAt(start + i);
        floats[capacity] = count;
        callProgram(append).dispose();
      }
    } else for (let i = 0; i < capacity && i < observation.length; i++) floats[i] = observation[i]!;
    const value = callProgram(step);
    const action = programAction(environment.actionSpace, floats, () => {
      const text = context.getString(value);
      if (text === '') throw faultOf({ limit: 'memory' }, program.lineCount, observation);
      return text;
    });
    value.dispose();
    if ('action' in action) return action.action;
    throw new ProgramFault({ reason: truncate(action.reason), observation });
  }

  function act(episode: Episode, observation: Observation): Action {
    if (episode.fault !== undefined) throw episode.fault;
    try {
      if (episode !== current) resume(episode);
      const action = runStep(episode, observation);
      if (episode.history !== undefined && episode.history.push(observation) > maxReplayedSteps)
        episode.history = undefined;
      return action;
    } catch (error) {
      if (error instanceof ProgramFault) {
        episode.fault = error;
        current = undefined;
      }
      throw error;
    }
  }

  return {
    build(text) {
      const program = compile(text);
      const newEpisode = (seed: number): Episode => ({ program, seed, history: [], fuel: maxEpisodeWork });
      const firstEpisode = newEpisode(0);
      begin(firstEpisode);
      const forEpisode = (seed: number) => {
        const episode = newEpisode(seed);
        return (observation: Observation) => act(episode, observation);
      };
      return Object.assign((observation: Observation) => act(firstEpisode, observation), { forEpisode });
    },
  };
}

/** Returns a view of the buffer that the prelude filled with marks; QuickJS's API returns only copies of buffers. */
function sharedBuffer({ buffer }: WebAssembly.Memory, length: number): Float64Array {
  const marks = Float64Array.from({ length }, (_, i) => bufferMark - i);
  const offset = Buffer.from(buffer).indexOf(new Uint8Array(marks.buffer));
  if (offset === -1) throw new Error("the interpreter's memory lacks the shared buffer");
  return new Float64Array(buffer, offset, length);
}

const limitTexts: Readonly<Record<MachineLimit, string>> = {
  work: 'too much work: more than a million calls and loop iterations at a time, or as much in built-in functions',
  memory: 'out of memory',
  stack: 'stack overflow: calls or brackets are nested too deeply',
};

/** QuickJS's messages for exceeded limits. */
const limitsByMessage: Readonly<Record<string, MachineLimit>> = {
  interrupted: 'work',
  'out of memory': 'memory',
  'stack overflow': 'stack',
};

const maxReasonLength = 200;

function truncate(text: string): string {
  const line = safeLine(text).replaceAll('\t', ' ');
  return line.length > maxReasonLength ? `${line.slice(0, maxReasonLength)}…` : line;
}
