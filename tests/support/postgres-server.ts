import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

/**
 * Starts the embedded PostgreSQL of `postgres-worker.ts` in a thread, because it blocks for seconds while
 * other test servers must respond. Its URL contains user and password.
 */
export async function startPostgres(): Promise<{ url: string; close(): Promise<void> }> {
  const thread = new Worker(fileURLToPath(new URL('./postgres-worker.ts', import.meta.url).href))
  const url = await new Promise<string>((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
  })
  return { url, close: async () => void (await thread.terminate()) }
}
