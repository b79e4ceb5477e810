import htm from 'htm';
import { h } from 'preact';

export const html = htm.bind(h);

/** An event of a text field or a box. */
export interface InputEvent {
  readonly currentTarget: HTMLInputElement;
}

/** Handles a form's fields, by name, including the one of the button that was pressed. */
export const submitted =
  (handle: (field: (name: string) => string) => void) =>
  (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget, event.submitter);
    handle((name) => String(data.get(name) ?? '').trim());
  };
