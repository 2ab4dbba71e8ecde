// The month of the invented team: its threads, and the summary that its agent writes every morning.
import { counterDays } from './counter.mjs'
import { morningTask } from './team.mjs'
import { answer, search, threads } from './threads.mjs'

/**
 * @typedef {import('./model.mjs').Script} Script
 * @typedef {import('./threads.mjs').Day} Day
 * @typedef {import('./threads.mjs').Morning} Morning
 */

const topics = [
  ['the 21:10 boat', 'lost umbrellas', 'the ticket machine'],
  ['bicycles on Gull', 'the last boat on Sundays', 'group tickets'],
  ['how far the clinic is', 'the school ticket', 'dogs on board'],
  ['the storm', 'refunds', 'the camping site'],
]

/**
 * What Tomas counts in the evening, and what Bell makes of it on its schedule.
 * @param {number} ago
 * @returns {Morning}
 */
function summarise(ago) {
  const [first, second, third] = topics[ago % topics.length] ?? []
  const count = 6 + ((ago * 7) % 19)
  const day = 28 - ago
  const note = `Messages of day ${day}: ${count} of them, most about ${first}, some about ${second}, one about ${third}.`
  const urgent =
    ago % 3 === 0
      ? `One cannot wait: a passenger left medicine on the first boat.`
      : `None of them is urgent.`
  const post = {
    community: 'passengers',
    title: `Morning summary, day ${day}`,
    content: `${count} messages: most about **${first}**, some about ${second}, one about ${third}.\n${urgent}`,
  }
  return {
    note,
    answer: answer(
      'The summary is in m/passengers.',
      20 + count,
      search(`Messages of day ${day}`),
      [{ name: 'hub_create_post', arguments: post }],
    ),
    votes: ago % 4 === 0 ? ['mira'] : [],
  }
}

/** A schedule that is due after the month: nobody has counted since. */
const laterMorning = {
  question: morningTask,
  ...answer('No new messages of passengers since the last summary.', 20, search('Messages of day')),
}

/** Whether the day `ago` days ago is a weekday: Monday is day 4 after the epoch's first day, a Thursday. */
const isWeekday = (/** @type {number} */ ago) => {
  const weekday = new Date(Date.now() - ago * 86_400_000).getUTCDay()
  return weekday !== 0 && weekday !== 6
}

/** @returns {Day[]} */
export function tellMonth() {
  const days = Array.from({ length: 28 }, (_, index) => 27 - index)
  return days.flatMap((ago) => {
    const posts = [...threads, ...counterDays]
      .filter((day) => day.ago === ago)
      .flatMap(({ posts }) => posts)
    const morning = isWeekday(ago) ? summarise(ago) : undefined
    return morning || posts.length > 0 ? [{ ago, morning, posts }] : []
  })
}

/**
 * What the model answers to, by its question.
 * @param {Day[]} month
 * @returns {Script[]}
 */
export const listScripts = (month) => [
  ...month
    .flatMap(({ posts }) => posts.flatMap((post) => [post, ...(post.comments ?? [])]))
    .flatMap((item) =>
      item.answer
        ? [
            {
              ...item.answer,
              question: item.text
                .split(/ (?=\p{L})/u)
                .slice(1, 9)
                .join(' '),
            },
          ]
        : [],
    ),
  laterMorning,
]
