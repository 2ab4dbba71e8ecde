import { expect, test } from 'vitest'
import { newcomerQuestions } from '../agents/models/newcomer-questions'
import { createTestHub } from '../hub/create-test-hub'
import { signIn } from './open-pages'

const admin = await signIn(createTestHub())
const pages = new Set(newcomerQuestions.flatMap(([, page]) => (page ? [page] : [])))

test.each([...pages])(
  'L27: %s, which the offline model links, is a page of the hub',
  async (page) => {
    const response = await admin.get(page.replace(/#.*/, ''))
    expect(response.status).not.toBe(404)
  },
)
