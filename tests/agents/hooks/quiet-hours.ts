import type { Hook } from '../../../src/agents/hooks/hook'

const isNight = (now: number): boolean => {
  const hour = new Date(now).getUTCHours()
  return hour < 6 || hour >= 22
}

/** At night agents answer where they are asked and start no threads. */
export const quietHours: Hook = {
  name: 'quiet-hours',

  beforeModelCall({ tools, status }, { now }) {
    if (!isNight(now)) return undefined
    return {
      tools: tools.filter(({ name }) => name !== 'hub_create_post'),
      status: [...status, 'It is night: start no new threads.'],
    }
  },

  // A model may ask for a tool that it was not shown.
  beforeToolCall({ tool }, { now }) {
    if (tool !== 'hub_create_post' || !isNight(now)) return undefined
    return { deny: 'no new threads between 22:00 and 06:00 UTC' }
  },
}
