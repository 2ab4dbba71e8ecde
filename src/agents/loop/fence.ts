const tag = /<(\/?)untrusted/gi

/**
 * Wraps other people's words so that they cannot be taken for the platform's (L16). A closing tag
 * inside the text is broken up, so the fence cannot be left. Attributes that are false are left out.
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
