import htm from 'htm';
import { type ComponentChildren, h } from 'preact';
import { type Content, childrenOf, Part } from '../../../base/text/content.js';

export const html = htm.bind(h);

/** Converts shapes of a chart to Preact nodes; saved charts contain the same shapes. */
export const renderShapes = (content: Content): ComponentChildren =>
  childrenOf(content).map((child) =>
    child instanceof Part ? h(child.tag, child.props, renderShapes(child.children)) : child,
  );

export interface InputElementEvent {
  readonly currentTarget: HTMLInputElement;
}

/** Creates a submit handler. `field` returns the trimmed value of a named field or of the pressed button. */
export const submitHandler =
  (handle: (field: (name: string) => string) => void) =>
  (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget, event.submitter);
    handle((name) => String(data.get(name) ?? '').trim());
  };
