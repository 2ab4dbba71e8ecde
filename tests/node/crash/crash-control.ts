import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Knows where every agent is, and holds the first one that comes to the chosen point. */
export class CrashControl {
  readonly #server: Server
  #target: string | null = null
  #onHit: ((agent: string) => void) | null = null
  /** Every point passed, in order. */
  readonly passed: { point: string; agent: string }[] = []

  constructor() {
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', 'http://control')
      const point = url.pathname.slice(1)
      const agent = url.searchParams.get('agent') ?? ''
      this.passed.push({ point, agent })
      if (point !== this.#target) return void response.end('go on')
      // no answer: here the machine dies
      this.#onHit?.(agent)
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves with the agent that comes to the point first. */
  aim(point: string): Promise<string> {
    this.#target = point
    return new Promise((resolve) => {
      this.#onHit = resolve
    })
  }

  release(): void {
    this.#target = null
    this.#onHit = null
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
