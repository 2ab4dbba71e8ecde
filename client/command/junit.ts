import type { Trial } from '../api.ts'

type TrialCase = Trial['cases'][number]

/** What a report is written of. */
export interface Report {
  /** Such as `scout/launch`. */
  name: string
  startedAt: string
  cases: TrialCase[]
}

/** Writes a trial in the XML of JUnit, as Jenkins and Surefire read it: a test for each case. */
export function toJunit({ name, startedAt, cases }: Report): string {
  const tests = cases.map((each, at) => toTest(name, each, at))
  const count = (element: string) =>
    tests.filter(({ body }) => body.startsWith(`<${element}`)).length
  const seconds = tests.reduce((sum, each) => sum + each.seconds, 0)
  const suite = formatAttributes({
    name,
    tests: tests.length,
    failures: count('failure'),
    errors: 0,
    skipped: count('skipped'),
    time: seconds.toFixed(3),
    timestamp: startedAt.replace(/(\.\d+)?Z$/, ''),
  })
  const lines = tests.map(({ attributes, body }) =>
    body === ''
      ? `    <testcase${attributes}/>`
      : `    <testcase${attributes}>\n      ${body}\n    </testcase>`,
  )
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite${suite}>`,
    ...lines,
    '  </testsuite>',
    '</testsuites>\n',
  ].join('\n')
}

const nameCharsMax = 200

function toTest(suite: string, each: TrialCase, at: number) {
  const { question, candidate, activation_id } = each
  const asked = question.replace(/\s+/g, ' ').trim().slice(0, nameCharsMax)
  const seconds = (candidate?.duration_ms ?? 0) / 1000
  const attributes = formatAttributes({
    // two cases may ask the same
    name: `${at + 1}. ${asked || activation_id}`,
    classname: suite,
    time: seconds.toFixed(3),
  })
  return { attributes, seconds, body: describe(each) }
}

/** Returns the element that says why a test did not pass; empty when it did. */
function describe({ state, verdict, by, reason, results, judgements }: TrialCase): string {
  if (verdict === 'better' || verdict === 'same') return ''
  if (verdict !== 'worse') {
    const open = verdict === null && state === 'done' ? 'Waits for people to compare.' : null
    return `<skipped${formatAttributes({ message: reason ?? open ?? toWords(verdict ?? state) })}/>`
  }
  const failed = (results?.candidate ?? []).flatMap((checks, sample) =>
    checks.flatMap(({ has_passed, detail }) =>
      has_passed ? [] : [`Run ${sample + 1}: ${detail}`],
    ),
  )
  const said = judgements.map(({ reason: words }) => `Judge: ${words}`)
  const message = `The draft is worse, by ${by ?? 'checks'}.`
  const attributes = formatAttributes({ message, type: 'worse' })
  return `<failure${attributes}>${escapeXml([...failed, ...said].join('\n'))}</failure>`
}

const toWords = (name: string): string => name.replaceAll('_', ' ')

const formatAttributes = (fields: Record<string, string | number>): string =>
  Object.entries(fields)
    .map(([name, value]) => ` ${name}="${escapeXml(String(value)).replaceAll('\n', '&#10;')}"`)
    .join('')

/** Escapes a text, without the characters that XML 1.0 has no way to write. */
const escapeXml = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff]/g, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
