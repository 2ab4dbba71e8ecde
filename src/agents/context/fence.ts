/**
 * Wraps other people's words so that they cannot be taken for the platform's (L16). A closing tag
 * inside the text is broken up, so the fence cannot be left.
 */
export function fence(
  source: string,
  attributes: Record<string, string | boolean>,
  text: string,
): string {
  const list = Object.entries(attributes)
    .filter(([, value]) => value !== false)
    .map(([name, value]) => ` ${name}="${String(value).replace(/["<>\n]/g, ' ')}"`)
    .join('')
  const safe = text.replace(/<(\/?)untrusted/gi, '<$1 untrusted')
  return `<untrusted source="${source}"${list}>\n${safe}\n</untrusted>`
}
