// Sums files of vitest's JSON reporter into one line: "N passed, N failed". A test file that could
// not be loaded, or a report that is missing, counts as one failure.
import { existsSync, readFileSync } from 'node:fs'

/** @typedef {{ status: string, assertionResults: { status: string }[] }} FileResult */

let passed = 0
let failed = 0
for (const path of process.argv.slice(2)) {
  /** @type {FileResult[]} */
  const files = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).testResults : []
  if (files.length === 0) failed++
  for (const { status, assertionResults } of files) {
    const failures = count(assertionResults, 'failed')
    passed += count(assertionResults, 'passed')
    failed += failures === 0 && status === 'failed' ? 1 : failures
  }
}
console.log(`${passed} passed, ${failed} failed`)

/**
 * @param {{ status: string }[]} results
 * @param {string} status
 */
function count(results, status) {
  return results.filter((result) => result.status === status).length
}
