import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

/**
 * The embedded PostgreSQL of `postgres-worker.ts`, in a thread, because it thinks for seconds while other
 * servers of the tests have to answer. Its address holds user and password.
 */
export async function startPostgres(): Promise<{ url: string; close(): Promise<void> }> {
  const thread = new Worker(fileURLToPath(new URL('./postgres-worker.ts', import.meta.url).href))
  const url = await new Promise<string>((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
  })
  return { url, close: async () => void (await thread.terminate()) }
}
