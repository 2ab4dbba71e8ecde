import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

/** Where the mail server of `mail-worker.ts` listens: for mail, and for those who read it. */
export interface MailPorts {
  smtp: number
  http: number
}

/** Starts the mail server of tests in a thread, so that it answers while a test is busy. */
export async function startMailServer(): Promise<{ ports: MailPorts; close(): Promise<void> }> {
  const thread = new Worker(fileURLToPath(new URL('./mail-worker.ts', import.meta.url).href))
  const ports = await new Promise<MailPorts>((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
  })
  return { ports, close: async () => void (await thread.terminate()) }
}
