/** Writes page content as HTML templates. Separate from `content.ts`, so that `--help` doesn't load the parser. */
import htm from 'htm';
import { type Content, Part } from './content.js';

type MakePart = (
  tag: string,
  props: Readonly<Record<string, Content>> | null,
  ...children: readonly Content[]
) => Content;
type TemplateTag = (parts: TemplateStringsArray, ...contents: readonly Content[]) => Content;

/** Template tag for parts (https://github.com/developit/htm). Interpolated text isn't parsed; values may be parts. */
// The types of htm don't describe its ES module.
export const html: TemplateTag = (htm as unknown as { bind(make: MakePart): TemplateTag }).bind(
  (tag, props, ...children) => new Part(tag, props, ...children),
);

/** Text that is shown unchanged. */
export const preformatted = (text: string, className?: string): Content =>
  html`<pre class=${className} tabindex="0">${text}</pre>`;
