import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'
import { expect, onTestFinished, test, vi } from 'vitest'

/** The gateway on a real runtime, with a provider and a program on real connections. */
const entry = fileURLToPath(new URL('../support/model-gateway-worker.ts', import.meta.url))
const patience = { timeout: 120_000, interval: 50 }

/** Starts the gateway as a Worker. Returns its URL. */
async function startGateway(): Promise<URL> {
  const built = await build({
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    write: false,
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser', 'import'],
    external: ['cloudflare:*', 'node:*'],
    target: 'es2022',
    logLevel: 'error',
  })
  const contents = built.outputFiles[0]?.text ?? ''
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: 'ESModule', path: 'worker.mjs', contents }],
      compatibilityDate: '2026-06-11',
      compatibilityFlags: ['nodejs_compat'],
      host: '127.0.0.1',
      port: 0,
    }),
  )
  onTestFinished(() => miniflare.dispose())
  return miniflare.ready
}

interface Provider {
  url: string
  /** The answers that were begun, and how often their connection was closed. */
  responses: ServerResponse[]
  closed: number
}

async function withProvider(
  answer: (response: ServerResponse) => void,
  run: (provider: Provider) => Promise<void>,
): Promise<void> {
  const provider: Provider = { url: '', responses: [], closed: 0 }
  const server: Server = createServer((request, response) => {
    request.resume()
    provider.responses.push(response)
    response.on('close', () => {
      provider.closed++
    })
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  provider.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  try {
    await run(provider)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

/** Sends a request as a program does, on a socket that the test can destroy. */
function sendRequest(url: URL, provider: string): Promise<Socket> {
  const body = JSON.stringify({ model: 'x', stream: true, messages: [] })
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => {})
  socket.write(
    `POST /gateway/v1/chat/completions HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer ${btoa(provider)}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  return new Promise((resolve) => socket.once('connect', () => resolve(socket)))
}

const piece = `data: ${JSON.stringify({ choices: [{ delta: { content: 'word ' } }] })}\n\n`
const begin = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' })

/** Writes a piece of text again and again, until the connection closes. */
function writeForever(response: ServerResponse): void {
  begin(response)
  const timer = setInterval(() => response.write(piece), 20)
  response.on('close', () => clearInterval(timer))
}

const readSettled = async (url: URL) => {
  const answer = await fetch(new URL('/settled', url))
  return (await answer.json()) as { finish: string }[]
}

/** Waits until a request is settled. */
async function waitForSettled(url: URL) {
  const all: { finish: string }[] = []
  await vi.waitFor(async () => {
    all.push(...(await readSettled(url)))
    expect(all.length).toBeGreaterThan(0)
  }, patience)
  return all
}

test('X4: when a program goes away its provider is left too, and the request is settled once', async () => {
  const url = await startGateway()
  await withProvider(writeForever, async (provider) => {
    const socket = await sendRequest(url, provider.url)
    await new Promise((resolve) => socket.once('data', resolve))
    socket.destroy()
    await vi.waitFor(() => expect(provider.closed).toBe(1), patience)
    expect(await waitForSettled(url)).toMatchObject([
      { finish: 'cancelled', usage: null, mayBeCharged: true },
    ])
  })

  // It goes before the provider has answered: what comes then is for nobody.
  await withProvider(
    () => {},
    async (provider) => {
      const socket = await sendRequest(url, provider.url)
      await vi.waitFor(() => expect(provider.responses.length).toBe(1), patience)
      socket.destroy()
      await new Promise((resolve) => setTimeout(resolve, 200))
      const [response] = provider.responses
      if (response && !response.destroyed) writeForever(response)
      await vi.waitFor(() => expect(provider.closed).toBe(1), patience)
      expect(await waitForSettled(url)).toMatchObject([{ finish: 'cancelled', mayBeCharged: true }])
    },
  )

  // A program that does not read holds the provider up, instead of filling memory.
  let written = 0
  const flood = (response: ServerResponse) => {
    begin(response)
    const chunk = Buffer.from(`: ${'x'.repeat(65_533)}\n`)
    const write = () => {
      while (written < 31_000_000) {
        written += chunk.length
        if (!response.write(chunk)) return void response.once('drain', write)
      }
    }
    write()
  }
  await withProvider(flood, async (provider) => {
    const socket = await sendRequest(url, provider.url)
    socket.pause()
    await vi.waitFor(() => expect(written).toBeGreaterThan(0), patience)
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(written).toBeLessThan(31_000_000)
    socket.destroy()
    await vi.waitFor(() => expect(provider.closed).toBe(1), patience)
    expect(await waitForSettled(url)).toMatchObject([{ finish: 'cancelled' }])
  })
  expect(await readSettled(url)).toEqual([])
})
