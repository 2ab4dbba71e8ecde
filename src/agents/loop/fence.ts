const tag = /<(\/?)untrusted/gi

/**
 * Wraps text of other people in a tag, so that the model cannot take it for text of the platform. A
 * closing tag inside the text is broken up. Attributes that are false are omitted.
 */
export function fence(
  source: string,
  attributes: Record<string, string | boolean>,
  text: string,
): string {
  let list = ''
  for (const name in attributes) {
    const value = attributes[name]
    if (value !== false) list += ` ${name}="${String(value).replace(/["<>\n]/g, ' ')}"`
  }
  return `<untrusted source="${source}"${list}>\n${text.replace(tag, '<$1 untrusted')}\n</untrusted>`
}
