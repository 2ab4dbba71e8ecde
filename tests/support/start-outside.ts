import { startFakeGithub } from './fake-github.ts'

/** Everything outside that tools of a server of their own talk to, and where it listens. */
export async function startOutside() {
  const started = { github: await startFakeGithub() }
  const urls = Object.fromEntries(Object.entries(started).map(([name, { url }]) => [name, url]))
  return {
    urls,
    close: async () => {
      await Promise.all(Object.values(started).map((each) => each.close()))
    },
  }
}
