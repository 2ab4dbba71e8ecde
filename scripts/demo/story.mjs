// The month of the invented team: its threads, and the summary that its agent writes every morning.
import { answer, search, threads } from './threads.mjs'

/**
 * @typedef {import('./model.mjs').Script} Script
 * @typedef {import('./threads.mjs').Day} Day
 * @typedef {import('./threads.mjs').Post} Post
 */

const topics = [
  ['the 21:10 boat', 'lost umbrellas', 'the ticket machine'],
  ['bicycles on Gull', 'the last boat on Sundays', 'group tickets'],
  ['how far the clinic is', 'the school ticket', 'dogs on board'],
  ['the storm', 'refunds', 'the camping site'],
]

/**
 * The summary that Tomas asks for every morning.
 * @param {number} ago
 * @returns {Post}
 */
function summarise(ago) {
  const [first, second, third] = topics[ago % topics.length] ?? []
  const count = 6 + ((ago * 7) % 19)
  const question = `Messages of day ${28 - ago}: ${count} of them, most about ${first}, some about ${second}, one about ${third}.`
  const urgent =
    ago % 3 === 0
      ? `One cannot wait: a passenger left medicine on the first boat.`
      : `None of them is urgent.`
  return {
    in: 'passengers',
    by: 'tomas',
    title: `Morning summary, day ${28 - ago}`,
    text: `@bell ${question} Sum up in two lines.`,
    agent: 'bell',
    answer: answer(
      `${count} messages: most about **${first}**, some about ${second}, one about ${third}.\n${urgent}`,
      80 + count * 4,
      search(`${first}`),
    ),
    votes: ago % 4 === 0 ? ['mira'] : [],
  }
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
    const own = threads.filter((day) => day.ago === ago).flatMap(({ posts }) => posts)
    const posts = isWeekday(ago) ? [summarise(ago), ...own] : own
    return posts.length > 0 ? [{ ago, posts }] : []
  })
}

/**
 * What the model answers to, by its question.
 * @param {Day[]} month
 * @returns {Script[]}
 */
export const listScripts = (month) =>
  month
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
    )
