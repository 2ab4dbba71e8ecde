import * as z from 'zod'
import { knownFields } from '../../shared/known-fields'
import { describeZone, findFirst, isTimezone, readOffsets } from '../../shared/local-time'
import {
  type Channel,
  channels,
  type NotificationChoices,
  notificationKinds,
} from '../schema/inbox'

export { type Channel, channels, type NotificationKind, notificationKinds } from '../schema/inbox'

/** What an account can choose channels for, in the order of the form. */
export const choiceLabels: Record<keyof NotificationChoices, string> = {
  mention: 'Mentions',
  reply: 'Replies, and comments on your posts',
  dm: 'Direct messages',
  approval: 'Calls that require your approval',
  run: 'Answers of agents',
  post: 'New posts of what you follow',
}

export const channelLabels: Record<Channel, string> = {
  push: 'Push',
  mail: 'Mail',
  digest: 'Digest',
}

/** What an account can choose channels for. */
export const choiceKinds = [...notificationKinds, 'post'] as const

/** The channels that a kind can have. */
export const channelsOf = (kind: keyof NotificationChoices): readonly Channel[] =>
  kind === 'post' ? ['digest'] : channels

/** How an account wants to be notified. */
export interface NotificationSettings {
  choices: NotificationChoices
  /** Minutes after local midnight; null: there are no quiet hours. */
  quietFrom: number | null
  quietTo: number | null
  /** IANA name. */
  timezone: string
  digestHour: number
}

/** What holds until an account chooses: everything to its browsers, at any hour, and no mail. */
export const defaultSettings: NotificationSettings = {
  choices: {
    mention: ['push'],
    reply: ['push'],
    dm: ['push'],
    approval: ['push'],
    run: ['push'],
    post: [],
  },
  quietFrom: null,
  quietTo: null,
  timezone: 'UTC',
  digestHour: 8,
}

/** Returns whether anything is chosen for a channel. */
export const hasChannel = (choices: NotificationChoices, channel: Channel): boolean =>
  choiceKinds.some((kind) => choices[kind].some((each) => each === channel))

const minuteOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'Must be a time, such as 22:00')
  .transform((text) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3)))

/** Formats minutes after midnight as `22:00`. */
export const formatMinute = (minute: number): string =>
  [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':')

const channelList = z
  .array(z.enum(channels))
  .max(channels.length)
  .transform((list) => channels.filter((channel) => list.includes(channel)))

/** What to change of how an account is notified: what is left out stays. Quiet hours have both ends or none. */
export const notificationInput = knownFields({
  mention: channelList.optional(),
  reply: channelList.optional(),
  dm: channelList.optional(),
  approval: channelList.optional(),
  run: channelList.optional(),
  post: z
    .array(z.enum(['digest']))
    .max(1)
    .optional(),
  quiet_from: minuteOfDay.nullable().optional(),
  quiet_to: minuteOfDay.nullable().optional(),
  timezone: z
    .string()
    .max(60)
    .refine(isTimezone, { error: ({ input }) => describeZone(String(input)) })
    .optional(),
  digest_hour: z.int().min(0).max(23).optional(),
}).refine(
  ({ quiet_from: from, quiet_to: to }) =>
    (from === undefined) === (to === undefined) && (from === null) === (to === null),
  { path: ['quiet_to'], message: 'Quiet hours must have a start and an end' },
)

export type NotificationInput = z.output<typeof notificationInput>

/** Returns the channels that a change gives to kinds. */
export function toChoices(input: NotificationInput): Partial<NotificationChoices> {
  const given = choiceKinds.flatMap((kind) =>
    input[kind] === undefined ? [] : [[kind, input[kind]] as const],
  )
  return Object.fromEntries(given)
}

/** Returns the settings with a change. */
export const changeSettings = (
  stored: NotificationSettings,
  input: NotificationInput,
): NotificationSettings => ({
  choices: { ...stored.choices, ...toChoices(input) },
  quietFrom: input.quiet_from === undefined ? stored.quietFrom : input.quiet_from,
  quietTo: input.quiet_to === undefined ? stored.quietTo : input.quiet_to,
  timezone: input.timezone ?? stored.timezone,
  digestHour: input.digest_hour ?? stored.digestHour,
})

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Returns when clocks next show an hour, after a time. */
export function findDigestAt(
  { digestHour, timezone }: Pick<NotificationSettings, 'digestHour' | 'timezone'>,
  after: number,
): number {
  const offsetAt = readOffsets(timezone)
  const midnight = Math.floor((after + offsetAt(after)) / dayMs) * dayMs
  const days = [0, 1, 2].map((day) =>
    findFirst(offsetAt, midnight + day * dayMs + digestHour * hourMs),
  )
  return days.find((at) => at > after) ?? after + dayMs
}
