/// <reference lib="dom" />
// (for the types of WebAssembly)
/**
 * QuickJS in WebAssembly, with a state that can be copied and restored. After the same image is restored, the same
 * calls give the same results and exceed the same limits, whatever ran before: nothing leaks between programs.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import release from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from 'quickjs-emscripten-core';
import { addMeter, fuelName, maxFuel } from './meter.js';

// The package's types describe its CommonJS exports, but at run time the default import is the variant itself.
const variant = release as unknown as QuickJSSyncVariant;

const pageBytes = 65_536;
/** Fixed size of the memory: 16 MiB, of which 11 MiB are heap. QuickJS's own limit ignores strings and buffers. */
const pageCount = 256;
/**
 * Limits of QuickJS's stack in bytes: about 650 nested calls and 500 nested brackets. The parser uses more of V8's
 * stack, which must not run out first, because its size isn't the same everywhere.
 */
const stackBytes = { calls: 131_072, parser: 32_768 };
/**
 * QuickJS checks for interrupts once per 10,000 calls, jumps and conditions, so this allows a million of them: half a
 * million iterations of an empty `for` loop. Unlike the work limit, it reports the line.
 */
const maxInterrupts = 100;
/** Work limit: instructions of a program, and loop iterations in native functions. Takes 0.5 to 2 seconds. */
export const maxWork = 50_000_000;

/** Copy of the memory, made while no code runs: the parts below and above the stack. */
export type MemoryImage = readonly Uint8Array[];

export type MachineLimit = 'work' | 'memory' | 'stack';

/** The result of a call into QuickJS. After `limit`, call `reset` with `renew`. */
export type MachineOutcome =
  | { readonly value: QuickJSHandle }
  | { readonly error: QuickJSHandle }
  | { readonly limit: MachineLimit };

export interface Machine {
  readonly context: QuickJSContext;
  readonly memory: WebAssembly.Memory;
  /** Work of the last call that didn't trap: the same on every machine. */
  readonly spentWork: number;
  /** Calls into QuickJS within the limits. @param workLeft remaining work, if it is less than the limit */
  run(call: () => ReturnType<QuickJSContext['callFunction']>, workLeft?: number): MachineOutcome;
  /** Evaluates code in strict mode, or only compiles it, within the limits. */
  evaluate(code: string, compileOnly: boolean): MachineOutcome;
  /** Copies the state. Like `restore` and `reset`, call it only while no code runs. */
  copy(): MemoryImage;
  /** Restores a state. Memory outside the image isn't cleared, but QuickJS doesn't read it. */
  restore(image: MemoryImage): void;
  /** Like `restore`, but clears other memory too. With `renew`, replaces the instance: its stack may be damaged. */
  reset(image: MemoryImage, renew?: boolean): void;
}

let modulePromise: Promise<WebAssembly.Module> | undefined;

/** Compiles the module once per thread. */
const wasmModule = (): Promise<WebAssembly.Module> => {
  const file = createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm');
  modulePromise ??= readFile(file).then((bytes) => WebAssembly.compile(addMeter(bytes)));
  return modulePromise;
};

export async function openMachine(): Promise<Machine> {
  const module = await wasmModule();
  const memory = new WebAssembly.Memory({ initial: pageCount, maximum: pageCount });
  const bytes = new Uint8Array(memory.buffer);
  let replaceInstance = (): void => undefined;
  let exports: WebAssembly.Exports = {};
  const quickjs = await newQuickJSWASMModuleFromVariant(
    newVariant<QuickJSSyncVariant>(variant, {
      wasmMemory: memory,
      emscriptenModule: {
        ...{ print: () => undefined, printErr: () => undefined },
        instantiateWasm(imports, receive) {
          // Forwarding lets another instance take over the memory.
          replaceInstance = () => ({ exports } = new WebAssembly.Instance(module, imports));
          replaceInstance();
          const forwardedExports = Object.fromEntries(
            Object.keys(exports).map((name) => [
              name,
              (...args: readonly unknown[]) =>
                (exports[name] as (...g: readonly unknown[]) => unknown)(...args),
            ]),
          );
          receive({ exports: forwardedExports });
          return forwardedExports;
        },
      },
    }),
  );
  const stack = findStack(bytes);
  const runtime = quickjs.newRuntime();
  const fuelGlobal = () => exports[fuelName] as WebAssembly.Global<'i32'>;
  let [interrupts, spentWork] = [0, 0];
  runtime.setMaxStackSize(stackBytes.calls);
  runtime.setMemoryLimit((pageCount * pageBytes) / 2);
  runtime.setInterruptHandler(() => ++interrupts > maxInterrupts);
  const context = runtime.newContext({ intrinsics });
  const restore = ([low, high]: MemoryImage) => {
    bytes.set(low!);
    bytes.set(high!, stack.end);
  };
  const run: Machine['run'] = (call, workLeft = maxWork) => {
    interrupts = 0;
    const startFuel = Math.min(workLeft, maxWork);
    fuelGlobal().value = startFuel;
    try {
      const result = call();
      spentWork = startFuel - fuelGlobal().value;
      if (result.error !== undefined) return { error: result.error };
      return interrupts > maxInterrupts ? { limit: 'work' } : { value: result.value };
    } catch (error) {
      if (fuelGlobal().value < 0) return { limit: 'work' };
      // A RangeError means that V8's stack ran out; any other error means that WebAssembly trapped.
      return { limit: error instanceof RangeError ? 'stack' : 'memory' };
    } finally {
      fuelGlobal().value = maxFuel;
    }
  };
  return {
    context,
    memory,
    get spentWork() {
      return spentWork;
    },
    run,
    evaluate(code, compileOnly) {
      runtime.setMaxStackSize(stackBytes.parser);
      const outcome = run(() =>
        context.evalCode(code, 'program', { type: 'global', strict: true, compileOnly }),
      );
      if (!('limit' in outcome)) runtime.setMaxStackSize(stackBytes.calls);
      return outcome;
    },
    copy: () => [bytes.slice(0, stack.start), bytes.slice(stack.end, usedBytes(bytes))],
    restore,
    reset(image, renew = false) {
      bytes.fill(0, stack.start, usedBytes(bytes));
      if (renew) replaceInstance();
      restore(image);
    },
  };
}

/** The features that policies need; dates, promises and proxies would only make programs harder to trust. */
const intrinsics = {
  ...{ BaseObjects: true, Eval: true, RegExp: true, RegExpCompiler: true },
  ...{ JSON: true, MapSet: true, TypedArrays: true, StringNormalize: true },
};

const zeros = Buffer.alloc(pageBytes);

/** Returns the number of bytes up to the end of the last page that isn't empty. */
function usedBytes(bytes: Uint8Array): number {
  let end = bytes.length;
  while (zeros.equals(bytes.subarray(end - pageBytes, end))) end -= pageBytes;
  return end;
}

/** Finds the stack, between the static data and the heap: the longest run of empty pages. */
function findStack(bytes: Uint8Array): { readonly start: number; readonly end: number } {
  const usedEnd = usedBytes(bytes);
  let [best, start] = [{ start: 0, end: 0 }, 0];
  for (let end = pageBytes; end <= usedEnd; end += pageBytes) {
    if (!zeros.equals(bytes.subarray(end - pageBytes, end))) start = end;
    else if (end - start > best.end - best.start) best = { start, end };
  }
  // Static data may end in zeros, so leave it one more page.
  return { start: best.start + pageBytes, end: best.end };
}
