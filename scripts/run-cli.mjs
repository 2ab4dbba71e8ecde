import { PlainError } from './local-state.mjs'

/**
 * Runs a command: a sentence and exit code 1 for what a person can mend, the whole stack for what
 * only we can.
 * @param {() => Promise<void>} command
 */
export async function runCli(command) {
  try {
    await command()
  } catch (error) {
    if (!(error instanceof PlainError)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}
