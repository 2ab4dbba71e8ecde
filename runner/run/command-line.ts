import { dirname, join } from 'node:path'
import { aiderFiles } from '../profiles/aider.ts'
import type { Claim, Drive, DriveFacts } from './drive.ts'
import { readInside } from './place-files.ts'

/** Runs one turn of a program that ends with it, and reads what it wrote into its files. */
export function driveCommandLine(facts: DriveFacts): Drive {
  const { child, relay, profile } = facts
  // The program may have put anything there.
  const readFile = (name: string): string => readInside(dirname(facts.cwd), join('tmp', name))
  const readAnswer = (): string => readLastAnswer(readFile(aiderFiles.history))
  const run = async (): Promise<Claim> => {
    facts.report({ kind: 'started', version: facts.version, session_id: null, is_resumed: false })
    child.stdin.end()
    let chars = 0
    child.stdout.on('data', (data: Buffer) => {
      chars += data.length
      facts.onUpdate(chars)
    })
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    if (code !== 0) throw new Error(`The program ended with code ${code}`)
    const answer = readAnswer()
    const hasSentMessage = readFile(aiderFiles.analytics).includes('"message_send"')
    const isSuccess =
      relay.facts.modelAnswers > 0 &&
      profile.isSuccess({ result: { hasSentMessage }, hasFailureUpdate: false, answer })
    return { end: 'end_turn', detail: null, isSuccess }
  }
  return {
    done: run(),
    cancel: async () => {
      child.kill('SIGINT')
    },
    answer: readAnswer,
    sessionId: () => null,
  }
}

/** Returns what follows the last task in a chat history: tasks start with `####`, notes of the program with `>`. */
function readLastAnswer(history: string): string {
  const lines = history.split('\n')
  const start = lines.findLastIndex((line) => line.startsWith('#### '))
  return lines
    .slice(start + 1)
    .filter((line) => !line.startsWith('>'))
    .join('\n')
    .trim()
    .slice(0, 100_000)
}
