/** Attributes of each element that rendered Markdown may contain, as exact text or as a form. */
const allowedElements: Record<string, RegExp> = {
  a: /^(?: class="at" href="\/a\/[\w-]+"| href="[^"<>]*" rel="nofollow ugc noopener"| href="#fn-[\w-]+" id="fnref-[\w-]+"| href="#fnref-[\w-]+" aria-label="Back to reference \d+")$/,
  code: /^(?: class="language-[^"<>]*")?$/,
  div: /^ class="wide" tabindex="0" role="group" aria-label="Table"$/,
  li: /^(?: id="fn-[\w-]+")?$/,
  input: /^ disabled type="checkbox"(?: checked)? aria-label="(?:done|to do)"$/,
  ol: /^(?: start="\d+")?$/,
  pre: /^ tabindex="0" role="group" aria-label="Code"$/,
  td: /^(?: align="(?:left|center|right)")?$/,
  th: /^(?: align="(?:left|center|right)")?$/,
}

const plainElements = new Set(
  'p em strong del ul blockquote h2 h3 hr br table thead tbody tr sup section'.split(' '),
)

const anyTag = /<(\/?)([a-z][a-z0-9]*)((?: [^<>]*?)??)(?: \/)?>/g

/**
 * Whether HTML consists of text and of the elements and attributes that rendered Markdown may contain: the
 * last check before it is stored. Addresses are checked where links are made.
 */
export function isAllowedHtml(html: string): boolean {
  let isAllowed = true
  const rest = html.replace(anyTag, (_tag, slash: string, name: string, attributes: string) => {
    isAllowed &&= isAllowedTag(slash, name, attributes)
    return ''
  })
  return isAllowed && !/[<>]/.test(rest)
}

function isAllowedTag(slash: string, name: string, attributes: string): boolean {
  const form = allowedElements[name]
  if (slash !== '') return attributes === '' && (form !== undefined || plainElements.has(name))
  return form === undefined ? attributes === '' && plainElements.has(name) : form.test(attributes)
}
