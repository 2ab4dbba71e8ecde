// Sums files of vitest's JSON reporter into one line: "N passed, N failed". A test file that could
// not be loaded, or a report that is missing, counts as one failure. Failures are printed before that
// line, because only the end of a long output may be kept.
import { existsSync, readFileSync } from 'node:fs'

/** @typedef {{ status: string, fullName: string, failureMessages?: string[] }} TestResult */
/** @typedef {{ status: string, name: string, message?: string, assertionResults: TestResult[] }} FileResult */

const messageCharsMax = 2_000

let passed = 0
/** @type {string[]} */
const failures = []
for (const path of process.argv.slice(2)) {
  /** @type {FileResult[]} */
  const files = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).testResults : []
  if (files.length === 0) failures.push(`no report: ${path}`)
  for (const { status, name, message = '', assertionResults } of files) {
    const failed = assertionResults.filter((result) => result.status === 'failed')
    passed += assertionResults.filter((result) => result.status === 'passed').length
    failures.push(
      ...failed.map(({ fullName, failureMessages = [] }) =>
        describe(`${name}: ${fullName}`, failureMessages.join('\n')),
      ),
    )
    if (failed.length === 0 && status === 'failed') failures.push(describe(name, message))
  }
}
for (const failure of failures) console.log(`Failed: ${failure}\n`)
console.log(`${passed} passed, ${failures.length} failed`)

/**
 * @param {string} what
 * @param {string} why
 */
function describe(what, why) {
  return `${what}\n${why.slice(0, messageCharsMax)}`.trim()
}
